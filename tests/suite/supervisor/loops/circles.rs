//! Ways of going round in circles.

use super::Circle;

/// What an agent says before it does the same again.
const REMARKS: [&str; 8] = [
    "Let me try that again.", "Perhaps the path is wrong?", "Hm, that did not help.", "I see what happens here",
    "The cache may be stale, so once more:", "One moment", "Now it should work!", "Strange",
];

/// Times, attempts, colours and spinners change from one time to the next, as they would.
pub const CIRCLES: [Circle; 17] = [
    Circle {
        name: "a retry, at other times",
        times: 6,
        has_odd_lines: false,
        lines: |at| vec![format!("[12:0{}:{:02}] Error: connection refused, retrying", at % 10, at * 7 % 60)],
    },
    Circle {
        name: "a retry that counts itself and waits longer",
        times: 6,
        has_odd_lines: false,
        lines: |at| {
            vec![format!(
                "API Error (Connection error.) · Retrying in {} seconds… (attempt {}/10)",
                1 << (at % 8),
                at + 1
            )]
        },
    },
    Circle {
        name: "an overloaded service, in JSON",
        times: 6,
        has_odd_lines: false,
        lines: |at| {
            let at = at + 3;
            vec![format!(
                r#"{{"time":"2026-11-22T09:0{at}:1{at}.0{at}1Z","error":"overloaded","request_id":"req_0{at}Zq{at}"}}"#
            )]
        },
    },
    Circle {
        name: "a prompt behind spinners",
        times: 6,
        has_odd_lines: false,
        lines: |at| {
            let glyphs: Vec<char> = "⠋⠙⠹⠸⠼⠴⠦⠧".chars().collect();
            let spin = |turn: usize| format!("\x1b[36m{}\x1b[0m Thinking… ({turn}s)", glyphs[turn % glyphs.len()]);
            let mut lines: Vec<String> = (0..at % 4).map(spin).collect();
            lines.push("\x1b[2K\x1b[1GDo you want to proceed? (y/n)".to_owned());
            lines
        },
    },
    Circle {
        name: "an edit and the same failing test",
        times: 4,
        has_odd_lines: false,
        lines: |at| {
            let result =
                format!("\x1b[31mtest result: FAILED\x1b[0m. 12 passed; 3 failed; finished in 0.{:02}s", at * 37 % 100);
            vec!["● Update(src/parse.rs)".to_owned(), result]
        },
    },
    Circle {
        name: "a download that breaks off, anywhere",
        times: 4,
        has_odd_lines: false,
        lines: |at| {
            let reached = [71, 40, 12, 33, 28][at % 5];
            let drawn =
                (0..=reached).step_by(9).map(|percent| format!("Receiving objects: {percent:3}% ({percent}0/1000)"));
            drawn.chain(["fatal: early EOF".to_owned()]).collect()
        },
    },
    Circle {
        name: "two tools in turn",
        times: 4,
        has_odd_lines: false,
        lines: |at| {
            vec![format!("09:1{at}:02 read src/a.rs ({at}2ms)"), format!("09:1{at}:07 grep 'fn main' ({}ms)", at + 3)]
        },
    },
    Circle {
        name: "read, edit, test",
        times: 4,
        has_odd_lines: false,
        lines: |at| {
            vec![
                "read src/parse.rs".to_owned(),
                "edit src/parse.rs".to_owned(),
                format!("12 passed, 3 failed in 0.{:02}s", at * 37 % 100),
            ]
        },
    },
    Circle {
        name: "three steps between empty lines and dots",
        times: 4,
        has_odd_lines: false,
        lines: |at| {
            let waiting = (0..at % 3).map(|dots| format!("Waiting{}", ".".repeat(dots + 1)));
            ["start the server", "", "curl: (7) Failed to connect", "stop the server"]
                .map(str::to_owned)
                .into_iter()
                .chain(waiting)
                .collect()
        },
    },
    Circle {
        name: "read, edit, build, test",
        times: 3,
        has_odd_lines: false,
        lines: |at| {
            vec![
                "● Read(src/parse.rs)".to_owned(),
                "● Update(src/parse.rs)".to_owned(),
                format!("    Finished `dev` profile in {at}.2{at}s"),
                format!("test result: FAILED. 12 passed; 3 failed; finished in 0.{:02}s", at * 37 % 100),
            ]
        },
    },
    Circle {
        name: "a deployment in six steps that is rolled back",
        times: 3,
        has_odd_lines: false,
        lines: |at| {
            let steps = [
                "pulling the image", "stopping the old one", "starting", "health check: 503", "rolling back", "failed",
            ];
            steps.iter().map(|step| format!("2026-11-22T09:1{at}:0{at}Z {step}")).collect()
        },
    },
    Circle {
        name: "the same diff, and the same test fails",
        times: 3,
        has_odd_lines: false,
        lines: |at| {
            let diff = [
                "$ git diff", "--- a/src/parse.rs", "+++ b/src/parse.rs", "@@ -12,7 +12,7 @@ fn parse",
                "-    let at = 0;", "+    let at = 1;", "$ cargo test",
            ];
            let result = format!("test result: FAILED. 12 passed; 3 failed; finished in 0.{:02}s", at * 37 % 100);
            diff.iter().map(|&line| line.to_owned()).chain([result]).collect()
        },
    },
    Circle {
        name: "one error, another remark each time",
        times: 7,
        has_odd_lines: true,
        lines: |at| vec![REMARKS[at].to_owned(), "Error: connection refused".to_owned()],
    },
    Circle {
        name: "a rate limit, its JSON in another order each time",
        times: 5,
        has_odd_lines: true,
        lines: |at| {
            let mut parts =
                [r#""code":429"#, r#""status":"RESOURCE_EXHAUSTED""#, r#""model":"pro""#, r#""quota":"per day""#];
            parts.rotate_left(at % 4);
            parts[1..].rotate_left(at / 4);
            vec![
                format!("RateLimitError: {{{}}}", parts.join(",")),
                "The provider has limited your rate. Try again later.".to_owned(),
                format!("Retrying in {}.0 seconds...", 1 << at),
            ]
        },
    },
    Circle {
        name: "two tools, now and then with a warning",
        times: 5,
        has_odd_lines: true,
        lines: |at| {
            let warning = (at % 3 == 1).then(|| "warning: the disk is slow".to_owned());
            ["read src/parse.rs".to_owned()]
                .into_iter()
                .chain(warning)
                .chain(["edit src/parse.rs".to_owned()])
                .collect()
        },
    },
    Circle {
        name: "four steps, each time with another id",
        times: 4,
        has_odd_lines: true,
        lines: |at| {
            let id = format!("created the sandbox {:08x}", (at + 11) * 0x0a1b_2c3d % 0xffff_ffff);
            let steps = ["copy the files", "run the tests", "3 failed", "remove the sandbox"].map(str::to_owned);
            [id].into_iter().chain(steps).collect()
        },
    },
    Circle {
        name: "eight steps and another remark each time",
        times: 4,
        has_odd_lines: true,
        lines: |at| {
            let steps = [
                "● Read(src/parse.rs)", "fn parse(text: &str)", "● Update(src/parse.rs)", "-    let at = 0;",
                "+    let at = 1;", "$ cargo test", "test parses_nothing ... FAILED", "● Undo(src/parse.rs)",
            ];
            steps[..3].iter().chain([&REMARKS[at]]).chain(&steps[3..]).map(|&line| line.to_owned()).collect()
        },
    },
];
