//! How a host's work is made, in the host's own tables: the blocks of its `fixtures.sql`.
//!
//! A block begins with a line `-- fixture NAME`. Its text is a template of SQL, and its values are literals of SQL.

use std::collections::BTreeMap;
use std::fmt::{Display, Formatter};

use chrono::{DateTime, SecondsFormat, Utc};
use minijinja::{Environment, Value};

use crate::conclusion::{Failure, config};
use crate::rules::{Id, Kind};
use crate::store::db::dialect::Dialect;
use crate::store::db::types::IdType;
use crate::store::hosts::folders::{Host, strict_templates};
use crate::text::redact;

const BEGINNING: &str = "-- fixture ";

/// What a person wrote and must stay.
pub const WORDS: &str = "Grace spoke with the client on Monday";

/// A block, by its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Block {
    /// `agent`: makes an agent that may be woken.
    Agent,
    /// `agent: paused`: from now on that agent must not be woken.
    AgentPaused,
    /// `issue`: makes one that is in progress, its agent's, and on which nobody has been at work since then.
    Stranded(Kind),
    /// `issue: at work` and its like: what happens to it.
    Of(Kind, Act),
    /// `issue: left, WORDS`: it must be left alone from now on, since WORDS.
    Left(Kind, String),
    /// `issue: also, WORDS`: nothing is promised, but every combination has it.
    Also(Kind, String),
}

#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::EnumString, strum::IntoStaticStr, strum::VariantArray,
)]
#[strum(serialize_all = "lowercase")]
pub enum Act {
    /// Since then somebody is at work on it, with a sign of life of this moment if the host has such. Of a session it
    /// is one of that time.
    #[strum(serialize = "at work")]
    AtWork,
    /// The host itself queued a wake then, which has not been taken up yet.
    Queued,
    /// What was at work on it ended or fell silent then: it is stranded.
    Stops,
    /// The worker died then: the host still calls the work running, without a sign of life since then.
    Dies,
    /// The wake that waited was taken then, and nothing has begun: no run, and no sign of life.
    Claimed,
    /// Its agent finished it then.
    Finished,
    /// How many wakes or commands for it wait until the host takes them up? One query.
    Wakes,
    /// The host took up what waited for it then, and is at work. To a session its command was given, and no more.
    #[strum(serialize = "taken up")]
    TakenUp,
    /// What are people shown of it if it is escalated? One query, without a row if it is not.
    Escalated,
    /// Somebody wrote WORDS where an escalation writes as well.
    Noted,
    /// Makes many that are finished, with what was at work on them.
    Crowd,
}

impl Block {
    fn parse(name: &str) -> Option<Block> {
        let (of, what) = name.split_once(": ").map_or((name, None), |(of, what)| (of, Some(what)));
        if of == "agent" {
            return match what {
                None => Some(Block::Agent),
                Some("paused") => Some(Block::AgentPaused),
                Some(_) => None,
            };
        }
        let kind = Kind::parse(of)?;
        Some(match what.map(|what| what.split_once(", ").unwrap_or((what, ""))) {
            None => Block::Stranded(kind),
            Some(("left", words)) if !words.is_empty() => Block::Left(kind, words.to_owned()),
            Some(("also", words)) if !words.is_empty() => Block::Also(kind, words.to_owned()),
            Some(_) => Block::Of(kind, what?.parse().ok()?),
        })
    }

    /// The blocks that no host with these kinds can do without. Sessions may take no commands, and people may have
    /// nowhere to write.
    fn needed(kinds: &[Kind]) -> impl Iterator<Item = Block> {
        let of_kind = |kind: Kind| {
            let events: &[Act] = match kind {
                Kind::Session => &[Act::AtWork, Act::Stops, Act::Finished],
                Kind::Step => &[Act::AtWork, Act::Stops, Act::Finished, Act::Wakes, Act::TakenUp],
                Kind::Issue => <Act as strum::VariantArray>::VARIANTS,
            };
            // Some hosts have no signs of life, no wakes that are taken before a run begins, or no place where people
            // write.
            let events = events.iter().filter(|event| !matches!(event, Act::Dies | Act::Claimed | Act::Noted));
            [Block::Stranded(kind)].into_iter().chain(events.map(move |event| Block::Of(kind, *event)))
        };
        [Block::Agent].into_iter().chain(kinds.iter().copied().flat_map(of_kind))
    }
}

impl Display for Block {
    fn fmt(&self, f: &mut Formatter) -> std::fmt::Result {
        match self {
            Block::Agent => f.write_str("agent"),
            Block::AgentPaused => f.write_str("agent: paused"),
            Block::Stranded(kind) => write!(f, "{kind}"),
            Block::Of(kind, event) => write!(f, "{kind}: {}", <&str>::from(event)),
            Block::Left(kind, words) => write!(f, "{kind}: left, {words}"),
            Block::Also(kind, words) => write!(f, "{kind}: also, {words}"),
        }
    }
}

/// A subject that fixtures make, and the agent that it belongs to.
#[derive(Clone, Debug)]
pub struct Made {
    pub kind: Kind,
    pub id: Id,
    pub agent: Id,
    /// The plan of a step.
    pub plan: Id,
}

/// What a block's template is filled in with, beside a subject.
pub struct Values {
    pub at: DateTime<Utc>,
    /// An id that nothing has yet.
    pub fresh: Id,
    /// How many a crowd is.
    pub count: u32,
}

/// A host's fixtures for one kind of database.
pub struct Fixtures {
    path: String,
    blocks: BTreeMap<Block, String>,
    templates: Environment<'static>,
    ids: IdType,
    dialect: Dialect,
}

impl Fixtures {
    pub fn of_host(host: &Host, dialect: Dialect) -> Result<Fixtures, Failure> {
        let Some((path, text)) = host.fixtures(dialect) else {
            let (name, folder) = (host.name(), dialect.name());
            return Err(config(format!(
                "the host {name} has no {folder}/fixtures.sql, by which its work could be made: see docs/hosts.md"
            )));
        };
        let blocks = read_blocks(text).map_err(|why| config(format!("{path}: {why}")))?;
        let missing: Vec<String> = Block::needed(&host.kinds())
            .filter(|block| !blocks.contains_key(block))
            .map(|block| format!("`{BEGINNING}{block}`"))
            .collect();
        if !missing.is_empty() {
            return Err(config(format!("{path}: expected the blocks {}", missing.join(", "))));
        }
        Ok(Fixtures { path, blocks, templates: strict_templates(), ids: host.id_type(), dialect })
    }

    pub fn has(&self, block: &Block) -> bool {
        self.blocks.contains_key(block)
    }

    /// The blocks that this closure says yes to, in the order of their names.
    pub fn those(&self, is_one: impl Fn(&Block) -> bool) -> Vec<Block> {
        self.blocks.keys().filter(|block| is_one(block)).cloned().collect()
    }

    pub fn ids(&self) -> IdType {
        self.ids
    }

    /// The SQL of a block about this subject.
    pub fn sql(&self, block: &Block, made: &Made, values: &Values) -> Result<String, Failure> {
        let failed = |why: String| config(format!("{}: `{BEGINNING}{block}`: {why}", self.path));
        let template = self.blocks.get(block).ok_or_else(|| failed("expected this block".to_owned()))?;
        let literal = |id: &Id| self.literal(id);
        let context = BTreeMap::from([
            (made.kind.name(), Value::from(literal(&made.id))),
            ("agent", literal(&made.agent).into()),
            ("plan", literal(&made.plan).into()),
            ("id", literal(&values.fresh).into()),
            ("at", self.time(values.at).into()),
            ("count", values.count.into()),
            ("words", format!("'{WORDS}'").into()),
            ("sqlite", (self.dialect == Dialect::Sqlite).into()),
        ]);
        self.templates.render_str(template, context).map_err(|error| failed(redact(&format!("{error:#}"))))
    }

    fn literal(&self, id: &Id) -> String {
        match self.ids {
            IdType::Integer | IdType::Bigint => id.0.clone(),
            IdType::Uuid | IdType::Text | IdType::TextOrUuid => format!("'{}'", id.0),
        }
    }

    fn time(&self, at: DateTime<Utc>) -> String {
        let text = at.to_rfc3339_opts(SecondsFormat::Millis, true);
        match self.dialect {
            Dialect::Postgres => format!("timestamptz '{text}'"),
            Dialect::Sqlite => format!("'{text}'"),
        }
    }
}

/// Reads the blocks of a file, by their names.
fn read_blocks(text: &str) -> Result<BTreeMap<Block, String>, String> {
    let mut blocks = BTreeMap::new();
    // Each begins behind a newline, the first one as well.
    let (text, separator) = (format!("\n{text}"), format!("\n{BEGINNING}"));
    let mut sections = text.split(&separator);
    let is_comment = |line: &str| line.trim().is_empty() || line.starts_with("--");
    if !sections.next().unwrap_or_default().lines().all(is_comment) {
        return Err(format!("expected `{BEGINNING}NAME` before the first statement"));
    }
    for section in sections {
        let (name, sql) = section.split_once('\n').unwrap_or((section, ""));
        let block = Block::parse(name.trim()).ok_or_else(|| {
            format!("`{BEGINNING}{}`: there is no such block: docs/hosts.md lists them", redact(name.trim()))
        })?;
        if blocks.insert(block, sql.trim().to_owned()).is_some() {
            return Err(format!("`{BEGINNING}{}` stands there twice", name.trim()));
        }
    }
    Ok(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_read_by_its_name() {
        let blocks = read_blocks(
            "-- Ours.\n\n-- fixture agent\ninsert;\n\n-- fixture issue: left, it waits, as ever\n-- Why.\nupdate;\n",
        );
        let blocks = blocks.expect("two blocks");
        let waits = Block::Left(Kind::Issue, "it waits, as ever".to_owned());
        assert_eq!(blocks.keys().collect::<Vec<_>>(), [&Block::Agent, &waits]);
        assert_eq!((blocks[&Block::Agent].as_str(), blocks[&waits].as_str()), ("insert;", "-- Why.\nupdate;"));
        for block in Block::needed(Kind::ALL).chain(blocks.into_keys()) {
            assert_eq!(Block::parse(&block.to_string()), Some(block));
        }
    }

    #[test]
    fn what_is_wrong_with_a_file_is_said() {
        for (text, expected) in [
            ("insert;\n-- fixture agent\n", "before the first statement"),
            ("-- fixture robot\n", "`-- fixture robot`: there is no such block"),
            ("-- fixture issue: explodes\n", "no such block"),
            ("-- fixture issue: left\n", "no such block"),
            ("-- fixture agent\n-- fixture agent\n", "stands there twice"),
        ] {
            let why = read_blocks(text).expect_err(text);
            assert!(why.contains(expected), "{text}: {why}");
        }
    }
}
