//! What each command is good for, by example.

/// One command: what it is good for, by example.
pub struct Page {
    /// The words behind `sweep` that call it; none: a sweep itself.
    pub(super) command: &'static [&'static str],
    /// What it does, and the line that does it.
    pub examples: &'static [(&'static str, &'static str)],
    /// What else there is to know.
    pub notes: &'static str,
}

pub(super) const PAGES: &[Page] = &[
    Page {
        command: &[],
        examples: &[
            ("See what would be done; nothing is written", "sweep -n"),
            ("Sweep; at a terminal, see the plan and be asked", "sweep"),
            ("Sweep from cron", "sweep --yes --database sqlite:///var/lib/agents.db"),
            ("Sweep one issue", "sweep --issue ACM-12"),
            ("Have a plan reviewed, then do exactly that", "sweep -n -o json > plan.json && sweep --apply plan.json"),
        ],
        notes: "Most options can also be set in the environment, as SWEEP_ORPHAN_GRACE for --orphan-grace; \
                options win. `sweep config` shows all settings.",
    },
    Page {
        command: &["daemon"],
        examples: &[
            ("Sweep every five minutes", "sweep daemon"),
            ("At half past two in Berlin", "sweep daemon --schedule '30 2 * * *' --timezone Europe/Berlin"),
        ],
        notes: DAEMON,
    },
    Page {
        command: &["status"],
        examples: &[
            ("What needs attention", "sweep status"),
            ("One plan and its steps", "sweep status --plan 'Release 2.4'"),
            ("For a program", "sweep status --output json"),
        ],
        notes: "It reads only: a standby will do, and a role that may only read.",
    },
    Page {
        command: &["page"],
        examples: &[
            ("Serve it to browsers on this machine, at http://127.0.0.1:9464", "sweep page"),
            ("To a team, behind a proxy that says who asks", PAGE_PROXY),
        ],
        notes: "It reads only: a standby will do, and a role that may only read. The daemon serves it as well: sweep \
                daemon --page on. SIGTERM and SIGINT end it, with exit code 0.",
    },
    Page {
        command: &["explain"],
        examples: &[
            ("Why was this issue continued, or left?", "sweep explain issue ACM-12"),
            ("A step of a plan", "sweep explain step 'Release 2.4 #2'"),
        ],
        notes: "It reads only: a standby will do, and a role that may only read.",
    },
    Page {
        command: &["wake"],
        examples: &[
            ("Go on with an issue now", "sweep wake ACM-12"),
            ("With a step of a plan, in somebody's name", "sweep wake 'Release 2.4 #2' --as ada"),
        ],
        notes: "A wake is queued as a sweep would, whatever its graces and limits say. It is refused, with exit code \
                1, if it would be wrong now: somebody is at work, a wake is pending, a wait or an exemption holds.",
    },
    Page {
        command: &["nudge"],
        examples: &[("Say what to do", "sweep nudge fence --message 'The gate is at the west side'")],
        notes: "It is refused, with exit code 1, unless the agent is known to be idle at its prompt: keys that are \
                typed at a question would answer it.",
    },
    Page {
        command: &["relaunch"],
        examples: &[("After a crash", "sweep relaunch fence")],
        notes: "Its supervisor (`sweep watch`, or the host's own) starts it again, in the same place. It is refused, \
                with exit code 1, while its process runs or somebody else works on its issue.",
    },
    Page {
        command: &["heartbeat"],
        examples: &[("It works where nobody sees it", "sweep heartbeat fence")],
        notes: "The ledger is no log of signs of life: it has a row only if something open is closed by it.",
    },
    Page {
        command: &["pause"],
        examples: &[("Leave it alone", "sweep pause fence"), ("Until now", "sweep resume fence")],
        notes: "Its stall detection is paused: no sweep and no supervisor nudges it or starts it again.",
    },
    Page {
        command: &["resume"],
        examples: &[("Look after it again", "sweep resume fence")],
        notes: "A new episode begins: what was tried before counts no more.",
    },
    Page {
        command: &["fail-step"],
        examples: &[("It cannot be done", "sweep fail-step 'Release 2.4 #2'")],
        notes: "Its plan goes on executing when none of its other steps is stalled.",
    },
    Page {
        command: &["skip-step"],
        examples: &[("It need not be done", "sweep skip-step 'Release 2.4 #2'")],
        notes: "Its plan goes on executing when none of its other steps is stalled.",
    },
    Page {
        command: &["exempt"],
        examples: &[
            ("Leave an issue alone until Christmas", EXEMPT_ADD),
            ("Let sweeps have it again", "sweep exempt remove issue ACM-15"),
            ("All that an agent has", EXEMPT_AGENT),
        ],
        notes: "",
    },
    Page {
        command: &["attention"],
        examples: &[
            ("What needs a person, and what can be done about it", "sweep attention"),
            ("Of one tenant, for a program", "sweep attention --tenant acme --output json"),
        ],
        notes: "",
    },
    Page {
        command: &["exempt", "add"],
        examples: &[
            ("Leave an issue alone until Christmas", EXEMPT_ADD),
            ("All that an agent has", EXEMPT_AGENT),
            ("All that is a tenant's", "sweep exempt add tenant acme --reason 'moving house' --until 2d"),
        ],
        notes: "The first that holds counts: the subject's own, its agent's, its tenant's.",
    },
    Page { command: &["exempt", "list"], examples: &[("All exemptions", "sweep exempt list")], notes: "" },
    Page {
        command: &["exempt", "remove"],
        examples: &[("Let sweeps have it again", "sweep exempt remove issue ACM-15")],
        notes: "",
    },
    Page {
        command: &["quarantine"],
        examples: &[("What is left out, and why", "sweep quarantine list"), ("Mended: try again", RELEASE)],
        notes: "",
    },
    Page {
        command: &["quarantine", "list"],
        examples: &[("What is left out, and why", "sweep quarantine list")],
        notes: "",
    },
    Page {
        command: &["quarantine", "release"],
        examples: &[("Mended: try again", RELEASE), ("All of them", "sweep quarantine release --all")],
        notes: "",
    },
    Page { command: &["notify"], examples: &[("Send a test message to everybody", "sweep notify test")], notes: "" },
    Page {
        command: &["notify", "test"],
        examples: &[("Send a test message to everybody", "sweep notify test")],
        notes: "",
    },
    Page {
        command: &["migrate"],
        examples: &[
            ("Set a database up, or bring it up to date", "sweep migrate --database postgres://…"),
            ("See what it would run", "sweep migrate --print"),
            ("Leave the database as it was", "sweep migrate --uninstall"),
        ],
        notes: "",
    },
    Page {
        command: &["host"],
        examples: &[
            ("Which control planes are built in", "sweep host list"),
            ("What one of them is", HOST_SHOW),
            ("Begin one of your own", HOST_NEW),
            ("Find out whether it keeps every promise", HOST_VERIFY),
        ],
        notes: "",
    },
    Page {
        command: &["host", "new"],
        examples: &[("A folder for the database that DATABASE_URL names", HOST_NEW)],
        notes: "docs/hosts.md goes on from there. The database is only looked at.",
    },
    Page {
        command: &["host", "verify"],
        examples: &[
            ("One of your own", HOST_VERIFY),
            ("A certificate to keep", "sweep host verify --host-dir ./our-tasks --output json > certificate.json"),
            ("One that is built in", "sweep host verify native --database sqlite://new.db"),
            ("One promise, which you are mending", HOST_VERIFY_CHECK),
        ],
        notes: "The database is copied several times, and stays as it is. On PostgreSQL the role needs the right to \
                make databases, and nobody else may be connected to this one. It exits with 1 if a promise is \
                broken.

What some checks come to is no certificate, and says so: in JSON its `holds` is null.",
    },
    Page { command: &["host", "list"], examples: &[("All that are built in", "sweep host list")], notes: "" },
    Page {
        command: &["host", "show"],
        examples: &[("What one is", HOST_SHOW), ("A model for one of your own", "sweep host show paperclip --files")],
        notes: "",
    },
    Page {
        command: &["watch"],
        examples: &[
            ("Run an agent under supervision", "sweep watch --issue ACM-27 claude 'redraw the page'"),
            ("Watch a pane that is there already", "sweep watch --tmux %3"),
        ],
        notes: "",
    },
    Page {
        command: &["watch", "event"],
        examples: &[("From an agent's hook", r#"sweep watch event '{"state": "idle"}'"#)],
        notes: "",
    },
    Page {
        command: &["mcp"],
        examples: &[
            ("Give an agent the state of the work, as it stands in its settings", "sweep mcp"),
            ("Have Claude Code start it", "claude mcp add sweep -- sweep mcp --database sqlite:///var/lib/agents.db"),
        ],
        notes: "It speaks the Model Context Protocol on stdin and stdout, and ends with stdin. Without --allow-changes \
                it reads only: a standby will do, and a role that may only read.",
    },
    Page { command: &["config"], examples: &[("What is set, and where", "sweep config")], notes: "" },
    Page {
        command: &["completions"],
        examples: &[
            ("bash, in ~/.bashrc", "source <(sweep completions bash)"),
            ("zsh, in ~/.zshrc", "source <(sweep completions zsh)"),
            ("fish, in config.fish", "sweep completions fish | source"),
        ],
        notes: "The script asks sweep itself at each TAB: for options, for values, and for the sessions, issues, \
                steps, plans and tenants of the database. For these it reads for a second at most, and says nothing \
                when it cannot.",
    },
    Page {
        command: &["man"],
        examples: &[
            ("Read the manual", "sweep man | man -l -"),
            ("Install all pages", "sweep man /usr/local/share/man/man1"),
        ],
        notes: "",
    },
    Page {
        command: &["demo"],
        examples: &[("See it work", "sweep demo"), ("And look around afterwards", "sweep demo --keep")],
        notes: "",
    },
];

const PAGE_PROXY: &str = "sweep page --http 10.0.0.5:9464 --page-host board.example --page-proxy 10.0.0.7";
const EXEMPT_ADD: &str = "sweep exempt add issue ACM-15 --reason 'load test' --until 2026-12-24";
const EXEMPT_AGENT: &str = "sweep exempt add agent Ada --reason 'on holiday'";
const HOST_NEW: &str = "sweep host new ./our-tasks";
const HOST_VERIFY: &str = "sweep host verify --host-dir ./our-tasks";
const HOST_VERIFY_CHECK: &str = "sweep host verify --host-dir ./our-tasks --check patience";
const HOST_SHOW: &str = "sweep host show paperclip";
const RELEASE: &str = "sweep quarantine release issue ACM-26";

const DAEMON: &str = "\
When a day of the month and a day of the week are both given, both must match. Times are the wall clock's: a time that \
is written out, as in 30 2 * * *, comes once a day also when the clocks change; */5 and the like go on and on.

SIGTERM and SIGINT end it after the sweep in hand, with exit code 0; a second one at once. SIGHUP reads --config and \
the files of secrets again. Wrong settings, rights or schema at the start: exit code 78. A database that is down is \
waited for.";
