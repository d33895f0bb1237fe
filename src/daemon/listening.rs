//! Hearing of runs that end, on a thread of its own: it waits for the database, and its connection may be lost at any
//! time.
//!
//! What is not heard is found by the schedule.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use backon::{BackoffBuilder, ExponentialBuilder};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::rules::Id;
use crate::store::connect::listen::{Listener, Source};
use crate::text::redact;

/// How soon it notices that nobody waits for its news any more.
const PATIENCE: Duration = Duration::from_secs(1);

/// A connection that is lost sooner did not work: else one that is cut every few seconds would be logged each time.
const A_WHILE: Duration = Duration::from_secs(60);

/// So much news waits to be taken.
const NEWS_MAX: usize = 8;

/// News from the thread.
pub enum News {
    /// It listens.
    Listening,
    /// Runs of these issues have ended.
    RunEnds(BTreeSet<Id>),
    /// The connection was lost, and why; it tries again.
    Disconnected(String),
}

/// Does it hear?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hearing {
    /// It has only begun.
    Unknown,
    Connected,
    /// That was logged.
    Disconnected,
}

/// Ends with its drop, within a moment.
pub struct Listening {
    pub source: Source,
    pub hearing: Hearing,
    news: Receiver<News>,
    is_over: Arc<AtomicBool>,
}

impl Listening {
    pub fn start(source: Source) -> Result<Listening> {
        let (sender, news) = channel(NEWS_MAX);
        let is_over = Arc::new(AtomicBool::new(false));
        let (its_source, over) = (source.clone(), Arc::clone(&is_over));
        thread::Builder::new()
            .name("listen".to_owned())
            .spawn(move || listen(&its_source, &over, &sender))
            .context("starting a thread")?;
        Ok(Listening { source, hearing: Hearing::Unknown, news, is_over })
    }

    /// The thread sends until nobody listens to it: there is always more to come.
    pub fn poll(&mut self, context: &mut Context) -> Poll<News> {
        match self.news.poll_recv(context) {
            Poll::Ready(Some(news)) => Poll::Ready(news),
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// After a connection that worked for a while, the next one is tried soon; after one that did not, later and later.
fn listen(source: &Source, is_over: &AtomicBool, news: &Sender<News>) {
    let delays =
        ExponentialBuilder::new().with_min_delay(Duration::from_secs(1)).with_max_delay(Duration::from_secs(60));
    let delays = delays.without_max_times().with_jitter();
    let mut delay = delays.build();
    while !is_over.load(Ordering::Relaxed) {
        let began = Instant::now();
        let listened = Listener::open(source).and_then(|mut listener| {
            let _ = news.blocking_send(News::Listening);
            pass_on(&mut listener, is_over, news)
        });
        let Err(error) = listened else { return };
        if A_WHILE < began.elapsed() {
            delay = delays.build();
        }
        let _ = news.blocking_send(News::Disconnected(redact(&format!("{error:#}"))));
        rest(delay.next().unwrap_or(PATIENCE), is_over);
    }
}

fn pass_on(listener: &mut Listener, is_over: &AtomicBool, news: &Sender<News>) -> Result<()> {
    while !is_over.load(Ordering::Relaxed) {
        let issues = listener.wait(PATIENCE)?;
        if !issues.is_empty() {
            // While nobody takes the news, more is left to the schedule.
            let _ = news.try_send(News::RunEnds(issues));
        }
    }
    Ok(())
}

fn rest(time: Duration, is_over: &AtomicBool) {
    let naps = time.as_millis().div_ceil(PATIENCE.as_millis());
    for _ in 0..naps {
        if !is_over.load(Ordering::Relaxed) {
            thread::sleep(PATIENCE);
        }
    }
}
