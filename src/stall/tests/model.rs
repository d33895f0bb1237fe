//! A naive detector: it counts the milliseconds one by one and has rules of its own.

/// The limits, with durations in milliseconds.
#[derive(Clone, Debug)]
pub struct Limits {
    pub silent_after: u64,
    pub nudge_delay: u64,
    pub nudges_max: u32,
    pub per_day_max: u32,
}

pub struct Model {
    limits: Limits,
    /// The session's own clock, which stands still in a pause.
    clock: u64,
    wall: u64,
    is_paused: bool,
    active_at: u64,
    is_reported: bool,
    /// Nudges in an episode whose end was not sent yet.
    over_after: Option<u32>,
    nudges: u32,
    is_unconfirmed: bool,
    last_nudge: Option<u64>,
    is_escalated: bool,
    nudges_of_day: u32,
    escalations_of_day: u32,
    pub sent: Vec<(u128, String)>,
}

impl Model {
    pub fn new(limits: Limits) -> Model {
        Model {
            limits,
            clock: 0,
            wall: 0,
            is_paused: false,
            active_at: 0,
            is_reported: false,
            over_after: None,
            nudges: 0,
            is_unconfirmed: false,
            last_nudge: None,
            is_escalated: false,
            nudges_of_day: 0,
            escalations_of_day: 0,
            sent: Vec::new(),
        }
    }

    pub fn pass(&mut self, milliseconds: u64) {
        for _ in 0..milliseconds {
            self.wall += 1;
            self.clock += u64::from(!self.is_paused);
            self.look();
        }
    }

    pub fn reset(&mut self) {
        // A sign of life in the same moment as the last one is no later.
        if self.active_at < self.clock {
            self.active_at = self.clock;
            if self.is_reported {
                self.over_after = Some(self.nudges);
            }
            (self.is_reported, self.nudges, self.is_escalated, self.is_unconfirmed) = (false, 0, false, false);
        }
        self.look();
    }

    pub fn pause(&mut self) {
        self.is_paused = true;
    }

    pub fn resume(&mut self) {
        self.is_paused = false;
        self.look();
    }

    pub fn nudge_sent(&mut self) {
        if !self.is_unconfirmed {
            self.nudges += 1;
            self.nudges_of_day += 1;
        }
        self.is_unconfirmed = false;
        self.last_nudge = Some(self.clock);
        self.look();
    }

    fn look(&mut self) {
        while !self.is_paused && self.step() {}
    }

    /// Sends one event, if any is due.
    fn step(&mut self) -> bool {
        if let Some(nudges) = self.over_after.take() {
            return self.send(format!("recovered after {nudges}"));
        }
        if self.clock - self.active_at <= self.limits.silent_after {
            return false;
        }
        if !self.is_reported {
            self.is_reported = true;
            return self.send("stalled".to_owned());
        }
        let is_resting = self.last_nudge.is_some_and(|last| self.clock - last < self.limits.nudge_delay);
        if self.is_escalated || is_resting {
            return false;
        }
        let cause = match (self.limits.nudges_max, self.nudges) {
            (0, _) => Some("NotAllowed"),
            (max, nudges) if max <= nudges => Some("Exhausted"),
            _ if self.limits.per_day_max <= self.nudges_of_day => Some("TooManyAttempts"),
            _ => None,
        };
        match cause {
            Some(_) if self.limits.per_day_max.max(1) <= self.escalations_of_day => false,
            Some(cause) => {
                self.is_escalated = true;
                self.escalations_of_day += 1;
                self.send(format!("escalated after {}: {cause}", self.nudges))
            }
            None => {
                self.nudges += 1;
                self.nudges_of_day += 1;
                self.is_unconfirmed = true;
                self.last_nudge = Some(self.clock);
                self.send(format!("nudge {}/{}", self.nudges, self.limits.nudges_max))
            }
        }
    }

    fn send(&mut self, event: String) -> bool {
        self.sent.push((self.wall.into(), event));
        true
    }
}
