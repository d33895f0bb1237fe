//! The clock of these tests is tokio's paused one: it jumps to the next timer when nothing else is left to do, so that
//! every moment is exact. Timers have whole milliseconds: what is due after "longer than a minute" is due at 60,001 ms.

mod cancellation;
mod channels;
mod crowds;
mod ends;
mod histories;
mod loops;
mod model;
mod moments;
mod signs;
mod threads;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::mpsc::{self, Receiver};
use tokio::time::{Instant, sleep};

use super::*;
use crate::rules::{Cause, Finding, Id};

const MINUTE: Duration = Duration::from_secs(60);

/// The line of an endless loop.
const LOOP: &str = "Error: connection refused";

fn id(name: &str) -> Id {
    Id(name.to_owned())
}

/// Silent for longer than a minute: nudged at most twice, 20 s apart.
fn config() -> StallConfig {
    StallConfig { silent_after: MINUTE, nudge_delay: MINUTE / 3, ..StallConfig::default() }
}

/// A detector of the session `one`, and a channel with so much room.
fn spawn(config: StallConfig, room: usize) -> (StallDetectorHandle, Receiver<StallEvent>) {
    let (events, inbox) = mpsc::channel(room);
    (StallDetector::new(id("one"), config).spawn(events), inbox)
}

/// How many tasks there are besides the test.
fn tasks() -> usize {
    Handle::current().metrics().num_alive_tasks()
}

/// The event for a silent session.
fn stalled(session_id: Id, silent_for: Duration) -> StallEvent {
    StallEvent::Stalled { session_id, finding: Finding::Silent, repeats: None, silent_for }
}

/// One watched session, and the events that its reader received, with their times in milliseconds.
struct Scene {
    session: StallDetectorHandle,
    received: Arc<Mutex<Vec<(u128, StallEvent)>>>,
}

impl Scene {
    fn new(config: StallConfig) -> Scene {
        let (session, mut inbox) = spawn(config, 64);
        let received = Arc::<Mutex<Vec<_>>>::default();
        let writes = Arc::clone(&received);
        let began = Instant::now();
        tokio::spawn(async move {
            while let Some(event) = inbox.recv().await {
                writes.lock().unwrap().push((began.elapsed().as_millis(), event));
            }
        });
        Scene { session, received }
    }

    async fn pass(&self, seconds: f64) {
        pass(seconds).await;
    }

    /// Plays steps such as `45 pause loop*30 resume progress`: a number lets so many seconds pass, and `loop*30` prints
    /// the line of a loop in each of 30 seconds.
    async fn play(&self, steps: &str) {
        for step in steps.split_whitespace() {
            match step {
                "reset" => self.session.reset(),
                "pause" => self.session.pause(),
                "resume" => self.session.resume(),
                "nudge" => self.session.nudge_sent(),
                "loop" => self.session.output(LOOP),
                "progress" => self.session.output("something else"),
                step => match step.strip_prefix("loop*") {
                    Some(seconds) => self.print_loop(seconds.parse().expect("seconds")).await,
                    None => self.pass(step.parse().expect("seconds")).await,
                },
            }
        }
    }

    /// Prints a line in each of so many seconds.
    async fn print(&self, seconds: usize, line: impl Fn(usize) -> String) {
        for number in 0..seconds {
            self.pass(1.0).await;
            self.session.output(&line(number));
        }
    }

    async fn print_loop(&self, seconds: usize) {
        self.print(seconds, |_| LOOP.to_owned()).await;
    }

    /// The events since the last call: `60.001 stalled, 60.001 nudge 1/2`.
    async fn transcript(&self) -> String {
        settle().await;
        let received = std::mem::take(&mut *self.received.lock().unwrap());
        let line = |(at, event): &(u128, StallEvent)| format!("{} {}", *at as f64 / 1e3, described(event));
        received.iter().map(line).collect::<Vec<_>>().join(", ")
    }

    /// The events since the last call, without their times.
    fn events(&self) -> Vec<StallEvent> {
        self.received.lock().unwrap().drain(..).map(|(_, event)| event).collect()
    }
}

/// The transcript of a new session after these steps.
async fn transcript_of(steps: &str) -> String {
    let scene = Scene::new(config());
    scene.play(steps).await;
    scene.transcript().await
}

/// Lets so many seconds pass, and everything happen that is due by then.
async fn pass(seconds: f64) {
    sleep(Duration::from_secs_f64(seconds)).await;
    settle().await;
}

/// Lets every task do what it can do now.
async fn settle() {
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
}

fn described(event: &StallEvent) -> String {
    match event {
        StallEvent::Stalled { finding: Finding::Silent, .. } => "stalled".to_owned(),
        StallEvent::Stalled { finding, .. } => format!("stalled, {finding:?}"),
        StallEvent::AutoNudge { attempt, attempts_max, .. } => format!("nudge {attempt}/{attempts_max}"),
        StallEvent::Escalated { attempts, cause, .. } => format!("escalated after {attempts}: {cause:?}"),
        StallEvent::SelfRecovered { attempts, .. } => format!("recovered after {attempts}"),
    }
}
