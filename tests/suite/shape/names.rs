//! Names: a type's name says which type is meant everywhere in the library, and its functions stand in one file.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::architecture::files;

/// The definition of a type at the top level of a file.
static TYPE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^(?:pub(?:\([^)]*\))? )?(?:struct|enum|trait|type|union) (\w+)").expect("an expression")
});

/// An `impl` of a type's own functions, not of a trait.
static IMPL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^impl(?:<[^{]*?>)? ([A-Z]\w*)(?:<[^{]*?>)? (?:where[^{]*)?\{").expect("an expression")
});

/// Each name that `expression` captures in several of these files, with the files. Tests are left out.
fn in_several(expression: &Regex, files: &[(String, String)]) -> Vec<String> {
    let mut places: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (path, text) in files.iter().filter(|(path, _)| !path.contains("/tests") && !path.contains("/random_histories"))
    {
        let code = text.split("#[cfg(test)]\nmod tests {").next().expect("the text before the tests");
        let found = expression.captures_iter(code).map(|name| name.extract::<1>());
        for (_, [name]) in found.filter(|(line, _)| !line.contains(" for ")) {
            places.entry(name.to_owned()).or_default().push(path);
        }
    }
    let several = |places: &[&str]| places.iter().any(|path| *path != places[0]);
    places.iter().filter(|(_, places)| several(places)).map(|(name, places)| format!("{name}: {places:?}")).collect()
}

fn library() -> Vec<(String, String)> {
    files("src", "rs").into_iter().map(|(path, text)| (path.display().to_string(), text)).collect()
}

#[test]
fn no_two_types_have_one_name() {
    let found = in_several(&TYPE, &library());
    assert!(found.is_empty(), "these names stand for several types:\n{}", found.join("\n"));
}

#[test]
fn the_functions_of_a_type_stand_in_one_file() {
    let found = in_several(&IMPL, &library());
    assert!(found.is_empty(), "the functions of these types stand in several files:\n{}", found.join("\n"));
}

/// The negative control.
#[test]
fn a_name_or_a_type_in_two_files_is_found() {
    let text = |text: &str| text.to_owned();
    let here = text("pub struct Row<T>(T);\nimpl<T> Row<T> {\n}\nimpl From<u8> for Other<u8> {\n}\nenum Other {}\n");
    let row = "pub(crate) enum Row {}\nimpl Row {\n}\nimpl From<Row<u8>> for Other<u8> {\n}\n";
    let there = format!("{row}#[cfg(test)]\nmod tests {{\n}}\nenum Other {{}}\n");
    let planted = [(text("src/a.rs"), here), (text("src/b.rs"), there)];
    for expression in [&*TYPE, &*IMPL] {
        assert_eq!(in_several(expression, &planted), [r#"Row: ["src/a.rs", "src/b.rs"]"#]);
    }
}
