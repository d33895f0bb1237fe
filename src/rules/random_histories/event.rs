//! What happens to an issue between two sweeps.

#[derive(Clone, Debug)]
pub enum Event {
    Sweep,
    /// A run that nobody's wake started.
    OwnRun,
    /// The host resumes the issue by itself: with the reason of a continuation, or as a retry of another kind.
    HostRun(&'static str),
    HostWake {
        is_continuation: bool,
    },
    /// The oldest pending wake becomes a run, or is dropped.
    WakeServed {
        runs: bool,
    },
    RunsEnd,
    /// A person, or the host.
    Status(&'static str),
    /// Set to work anew.
    Restart,
    Edit,
    Assign(Assigned),
    AgentStatus(&'static str),
    /// It waits for so many minutes; for none: no more.
    Wait(i64),
    /// The host forgets the runs that have ended, and the wakes that are done.
    Prune,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Assigned {
    Agent(usize),
    User,
    Nobody,
}
