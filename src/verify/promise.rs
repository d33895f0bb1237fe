//! What is promised of a host. Each promise has a check of the same name, which tries it.

#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Promise {
    Installation,
    Continuation,
    Recovery,
    Escalation,
    Patience,
    Candidates,
    Rivals,
    Locks,
    Kills,
    Footprint,
    Cost,
    Coverage,
    Removal,
}

impl Promise {
    /// All promises, in the order in which they are tried.
    pub const ALL: &[Promise] = <Promise as strum::VariantArray>::VARIANTS;

    /// The name of its check.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// What is promised, in words.
    pub fn sentence(self) -> &'static str {
        match self {
            Promise::Installation => "it fits the reference; nothing of the host's changes",
            Promise::Continuation => "stranded work gets one wake; a second sweep does nothing",
            Promise::Recovery => "work that goes on or is finished is left alone",
            Promise::Escalation => "when no wake helped, people see it, once",
            Promise::Patience => "what is at work, waits or must not be woken is left alone",
            Promise::Candidates => "all that the rules would touch is nominated",
            Promise::Rivals => "several sweeps at once do everything once",
            Promise::Locks => "sweep and the host never have the same work in hand",
            Promise::Kills => "a sweep that is killed leaves nothing half done",
            Promise::Footprint => "a dry run writes nothing, a sweep only what it must",
            Promise::Cost => "nomination, and the facts of one, beside finished work",
            Promise::Coverage => "the fixtures make each state that the tables allow",
            Promise::Removal => "uninstalling leaves the schema as it was",
        }
    }
}
