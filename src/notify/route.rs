//! The way to a destination: its address, and the form in which it takes a message.

use super::client::{HttpClient, SendError, Target};
use super::email::MailRoute;
use super::lines::lines;
use super::pagerduty::PagerDuty;
use super::slack::Chat;
use super::webhook::Secret;
use super::{teams, webhook};
use crate::store::work::outbox::{Destination, Message};

/// A destination, and where it is.
#[derive(Clone)]
pub enum NotifyRoute {
    Slack(Chat),
    Teams(Target),
    Email(MailRoute),
    PagerDuty(PagerDuty),
    /// The URL, and the key of the signatures.
    Webhook(Target, Secret),
}

impl NotifyRoute {
    /// Parses and checks the URL of a destination. `key`: what the posts to a webhook are signed with.
    ///
    /// # Errors
    /// What is wrong with the URL, without the URL itself.
    pub fn parse(
        destination: Destination,
        url: &str,
        private: bool,
        key: Option<Secret>,
    ) -> Result<NotifyRoute, String> {
        Ok(match destination {
            Destination::Slack => NotifyRoute::Slack(Chat::parse(url, private)?),
            Destination::Teams => NotifyRoute::Teams(Target::parse(url, private)?),
            Destination::Email => NotifyRoute::Email(MailRoute::parse(url, private)?),
            Destination::PagerDuty => NotifyRoute::PagerDuty(PagerDuty::parse(url, private)?),
            Destination::Webhook => {
                NotifyRoute::Webhook(Target::parse(url, private)?, key.ok_or("nothing to sign its posts with")?)
            }
        })
    }

    pub fn destination(&self) -> Destination {
        match self {
            NotifyRoute::Slack(_) => Destination::Slack,
            NotifyRoute::Teams(_) => Destination::Teams,
            NotifyRoute::Email(_) => Destination::Email,
            NotifyRoute::PagerDuty(_) => Destination::PagerDuty,
            NotifyRoute::Webhook(..) => Destination::Webhook,
        }
    }

    /// Sends a message; a message of nothing is a test.
    pub fn send(&self, client: &HttpClient, message: &Message) -> Result<(), SendError> {
        match self {
            NotifyRoute::Slack(chat) => client.post(chat.target(), &chat.message(lines(message))),
            NotifyRoute::Teams(target) => client.post(target, &teams::message(lines(message))),
            NotifyRoute::Email(route) => route.send(&message.id, message.at, &lines(message)),
            NotifyRoute::PagerDuty(service) => {
                service.events(message).iter().try_for_each(|event| client.post(service.target(), event))
            }
            NotifyRoute::Webhook(target, secret) => client.post(target, &webhook::message(message, secret)),
        }
    }

    /// Connects to the destination, by e-mail with its login, and sends nothing.
    pub fn reach(&self, client: &HttpClient) -> Result<(), SendError> {
        match self {
            NotifyRoute::Slack(chat) => client.reach(chat.target()),
            NotifyRoute::Email(route) => route.reach(),
            NotifyRoute::PagerDuty(service) => client.reach(service.target()),
            NotifyRoute::Teams(target) | NotifyRoute::Webhook(target, _) => client.reach(target),
        }
    }
}
