//! No circle between files: none imports itself, by however many others.
//!
//! A file *imports* another if its own code names something that is defined there, in a `use` or by a path. A parent
//! does not import what it only declares (`mod child;`) or passes on (`pub use child::Name;`). Code of tests does not
//! count.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

/// A module's path from the root of the crate: `["store", "open"]`.
type Module = Vec<String>;

static TEST: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?ms)^#\[cfg\(test\)\]\n(mod \w+;|.*?^\})").expect("an expression"));
static CHILD: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)^(?:pub(?:\([a-z: ]+\))? )?mod (\w+);").expect("an expression"));
static USE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)^\s*(pub(?:\([a-z: ]+\))? )?use ([^;]+);").expect("an expression"));
static PATH: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\b\w+(?:::\w+)+").expect("an expression"));
static WORD: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\w+").expect("an expression"));

/// One name that a `use` brings in.
struct Use {
    is_public: bool,
    path: Vec<String>,
    name: String,
}

/// The names in the code of one file.
struct Source {
    children: Vec<String>,
    uses: Vec<Use>,
    /// The paths and the words outside of `use` and `mod`.
    paths: Vec<Vec<String>>,
    words: BTreeSet<String>,
}

fn segments(path: &str) -> Vec<String> {
    path.split("::").filter(|segment| *segment != "self").map(str::to_owned).collect()
}

/// The paths in a tree: `a::{self, b::{c, d}}` has three.
fn leaves(tree: &str) -> Vec<String> {
    let (mut found, mut prefixes, mut path) = (Vec::new(), vec![String::new()], String::new());
    for c in format!("{tree},").chars() {
        let prefix = prefixes.last().expect("a brace that was opened").clone();
        match c {
            '{' => prefixes.push(prefix + std::mem::take(&mut path).trim()),
            ',' | '}' => {
                let leaf = std::mem::take(&mut path);
                found.extend((!leaf.trim().is_empty()).then(|| prefix + leaf.trim()));
                if c == '}' {
                    prefixes.pop();
                }
            }
            c => path.push(c),
        }
    }
    found
}

impl Source {
    fn parse(text: &str) -> Source {
        let lines: Vec<&str> = text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
        let code = lines.join("\n");
        let code = TEST.replace_all(&code, "");
        let uses = USE.captures_iter(&code).flat_map(|found| {
            let is_public = found.get(1).is_some();
            leaves(&found[2]).into_iter().map(move |leaf| {
                let (path, alias) = leaf.split_once(" as ").unwrap_or((&leaf, ""));
                let path = segments(path);
                let name = if alias.is_empty() { path.last().cloned().unwrap_or_default() } else { alias.to_owned() };
                Use { is_public, path, name }
            })
        });
        let rest = USE.replace_all(&code, "");
        let rest = CHILD.replace_all(&rest, "");
        Source {
            children: CHILD.captures_iter(&code).map(|child| child[1].to_owned()).collect(),
            uses: uses.collect(),
            paths: PATH.find_iter(&rest).map(|path| segments(path.as_str())).collect(),
            words: WORD.find_iter(&rest).map(|word| word.as_str().to_owned()).collect(),
        }
    }
}

/// The files of a crate that are compiled without its tests.
struct Crate(BTreeMap<Module, Source>);

impl Crate {
    /// Reads the root, and from there on each file that is declared.
    fn load(text_of: impl Fn(&str) -> String) -> Crate {
        let (mut sources, mut next) = (BTreeMap::new(), vec![Module::new()]);
        while let Some(module) = next.pop() {
            let source = Source::parse(&text_of(&path_of(&module)));
            next.extend(source.children.iter().map(|child| [module.as_slice(), std::slice::from_ref(child)].concat()));
            sources.insert(module, source);
        }
        Crate(sources)
    }

    /// The file that defines what this path means in this module; None: another crate does.
    fn definition(&self, module: &Module, path: &[String]) -> Option<Module> {
        let source = &self.0[module];
        let is_local = |path: &[String]| ["crate", "super"].contains(&&*path[0]) || source.children.contains(&path[0]);
        if !is_local(path) {
            let named = source.uses.iter().find(|named| named.name == path[0] && is_local(&named.path))?;
            return self.definition(module, &[&named.path, &path[1..]].concat());
        }
        let ups = path.iter().take_while(|segment| *segment == "super").count();
        match path[0] == "crate" {
            true => self.definition_below(Module::new(), &path[1..]),
            false => self.definition_below(module[..module.len() - ups].to_vec(), &path[ups..]),
        }
    }

    /// The file that defines a path that begins in this module, which may only pass it on.
    fn definition_below(&self, mut module: Module, path: &[String]) -> Option<Module> {
        for (at, segment) in path.iter().enumerate() {
            let source = &self.0[&module];
            if !source.children.contains(segment) {
                let passed_on = source.uses.iter().find(|named| named.is_public && named.name == *segment);
                let origin =
                    passed_on.and_then(|used| self.definition(&module, &[&used.path, &path[at + 1..]].concat()));
                return Some(origin.unwrap_or(module));
            }
            module.push(segment.clone());
        }
        Some(module)
    }

    fn imports(&self, module: &Module) -> BTreeSet<Module> {
        let Source { children, uses, paths, words } = &self.0[module];
        let is_passed_on =
            |named: &Use| named.is_public && children.contains(&named.path[0]) && !words.contains(&named.name);
        let uses = uses.iter().filter(|named| !is_passed_on(named)).map(|named| &named.path);
        let imported = uses.chain(paths).filter_map(|path| self.definition(module, path));
        imported.filter(|imported| imported != module).collect()
    }

    /// A circle, if there is one: each of these files imports the next one, and the last one the first.
    fn circle(&self) -> Vec<String> {
        let (mut way, mut done) = (Vec::new(), BTreeSet::new());
        self.0.keys().any(|module| self.leads_into_a_circle(module, &mut way, &mut done));
        way.iter().map(path_of).collect()
    }

    /// True if this module leads into a circle. `way` is the path to the module, and in the end the circle, or nothing.
    fn leads_into_a_circle(&self, module: &Module, way: &mut Vec<Module>, done: &mut BTreeSet<Module>) -> bool {
        if let Some(start) = way.iter().position(|before| before == module) {
            way.drain(..start);
            return true;
        }
        if !done.insert(module.clone()) {
            return false;
        }
        way.push(module.clone());
        let is_found = self.imports(module).iter().any(|imported| self.leads_into_a_circle(imported, way, done));
        if !is_found {
            way.pop();
        }
        is_found
    }
}

fn path_of(module: &Module) -> String {
    if module.is_empty() { "src/lib.rs".to_owned() } else { format!("src/{}.rs", module.join("/")) }
}

#[test]
fn no_file_imports_itself() {
    let read = |file: &str| std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).expect(file);
    let all = Crate::load(read);
    assert!(100 < all.0.len());
    assert_eq!(all.circle(), Vec::<String>::new());
}

/// The negative control, and an example that is no circle: here `parent` has a child, which needs `friend`.
#[test]
fn a_planted_circle_is_found() {
    let circle = |parent: &str, child: &str, friend: &str| {
        let text_of = |file: &str| match file {
            "src/lib.rs" => "pub mod friend;\npub mod parent;".to_owned(),
            "src/parent.rs" => format!("mod child;\npub use child::Child;\n{parent}"),
            "src/parent/child.rs" => format!("use crate::friend::{{self, Friend}};\npub struct Child;\n{child}"),
            "src/friend.rs" => format!("pub struct Friend;\n{friend}"),
            _ => panic!("{file} was not declared"),
        };
        Crate::load(text_of).circle()
    };
    let (friend, parent, child) = ("src/friend.rs", "src/parent.rs", "src/parent/child.rs");
    let none: [&str; 0] = [];
    assert_eq!(circle("", "use super::Word;", ""), none, "it is declared and passed on");
    assert_eq!(circle("// child::run()", "use super::Word;", ""), none, "a comment");
    assert_eq!(circle("#[cfg(test)]\nmod tests {\n    use super::Child;\n}", "use super::Word;", ""), none, "a test");
    assert_eq!(circle("type Own = Child;", "use super::Word;", ""), [parent, child]);
    assert_eq!(circle("fn f() { child::run() }", "type Own = crate::parent::Word;", ""), [parent, child]);
    assert_eq!(circle("", "", "use crate::parent::{\n    Child as Other,\n    Word,\n};"), [friend, child]);
    assert_eq!(circle("type Own = Child;", "", "use crate::parent;"), [friend, parent, child]);
    assert_eq!(circle("", "use super::Word;", "use crate::parent;"), none);
}
