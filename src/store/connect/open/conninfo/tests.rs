use rstest::rstest;

use super::ServerPlace::{Loopback, Remote, Socket};
use super::*;

#[rstest]
#[case("postgres://app:x@db/app?sslmode=require", "postgres://app:***@db/app?sslmode=require")]
#[case("postgresql://app:x?y=z@db", "postgresql://app:***@db")]
#[case("postgres://app@db?passfile=/x&options=-c%20x&", "postgres://app@db?passfile=***&options=***&")]
#[case("postgres://db/app?opt%69ons=x&application_name=y", "postgres://db/app?opt%69ons=***&application_name=y")]
#[case("postgres://app@db/app", "postgres://app@db/app")]
#[case("postgres:///app?host=/tmp/a@b&sslkey=x", "postgres:///app?host=/tmp/a@b&sslkey=***")]
#[case("host=db  password = 'x y\\' z'user=app", "host=db  password = ***user=app")]
#[case("options=-c\\ x host=db", "options=*** host=db")]
#[case("password=", "password=***")]
#[case("", "")]
#[case("host=db password='x", "***")]
#[case("host=db password=x y", "***")]
#[case("app:x@db?options=x", "***")]
#[case("postgres://db/app?password=x&y", "***")]
#[case("postgres://db/app?password=x=y", "***")]
fn what_may_hold_a_secret_is_hidden_and_nothing_else(#[case] url: &str, #[case] expected: &str) {
    assert_eq!(Conninfo::read(url).hidden(), expected);
}

#[rstest]
#[case("postgres://a@db:1,[::1]:2,other,db:3/app?port=4&x=5", &["1", "2", "3", "4"])]
#[case("postgres://a:9@db/app", &[])]
#[case("postgres://[::1]/app", &[])]
#[case("host=a,b port='1, 2'", &["1", "2"])]
fn the_ports_are_those_that_libpq_sees(#[case] url: &str, #[case] expected: &[&str]) {
    assert_eq!(Conninfo::read(url).ports().collect::<Vec<_>>(), expected);
}

#[rstest]
#[case::another_name_of_the_application(
    "postgres://h/d?application_name=a", "host=h dbname=d application_name=b", true
)]
#[case::another_password("postgres://u:p@h/d", "host=h dbname=d user=u password=q", true)]
#[case::another_user("postgres://u@h/d", "postgres://v@h/d", false)]
#[case::another_address("host=h hostaddr=10.0.0.1", "host=h hostaddr=10.0.0.2", false)]
#[case::another_host("postgres://h/d", "postgres://i/d", false)]
#[case::the_hosts_in_another_order("postgres://h,i/d", "postgres://i,h/d", false)]
#[case::the_port_of_another_host("postgres://h:1,i/d", "postgres://h,i:1/d", false)]
#[case::another_port_of_the_first_host("postgres://h:1,i:2/d", "postgres://h:3,i:2/d", false)]
#[case::another_database("postgres://h/d", "postgres://h/e", false)]
#[case::another_that_is_hidden("host=h dbname='postgres://h/d'", "host=h dbname='postgres://h/e'", false)]
#[case::another_service("service=a", "service=b", false)]
#[case::another_endpoint("postgres://h/d?options=endpoint%3Da", "postgres://h/d?options=endpoint%3Db", false)]
#[case::another_role_of_the_server("postgres://h,i/d", "postgres://h,i/d?target_session_attrs=standby", false)]
fn two_strings_lead_to_one_place_if_all_that_decides_is_alike(
    #[case] one: &str,
    #[case] other: &str,
    #[case] is_alike: bool,
) {
    assert_eq!(Conninfo::read(one).destination() == Conninfo::read(other).destination(), is_alike);
}

#[rstest]
#[case("postgres://app:x@db", true)]
#[case("postgres://app:@db", false)]
#[case("postgres://db?options=x", false)]
#[case("host=db sslpassword=x", true)]
#[case("host=db application_name='password=x'", false)]
fn a_password_is_found_where_there_is_one(#[case] url: &str, #[case] expected: bool) {
    assert_eq!(Conninfo::read(url).has_password(), expected);
}

#[rstest]
#[case("postgres://u:p%40w@h:5433/d?sslmode=require", "password", Some("p@w"))]
#[case("postgres://u:p%40w@h:5433/d?sslmode=require", "host", Some("h"))]
#[case("postgres://u:p@h/d?sslmode=prefer&sslmode=require", "sslmode", Some("require"))]
#[case("postgres://h/d?host=other", "host", Some("other"))]
#[case("postgresql://h1:1,h2:2/", "host", Some("h1,h2"))]
#[case("postgres:///d?host=%2Ftmp&ssl=true", "host", Some("/tmp"))]
#[case("postgres:///d?host=%2Ftmp&ssl=true", "sslmode", Some("require"))]
#[case("postgres://u:p?w@h", "host", Some("h"))]
#[case("postgres://", "host", None)]
#[case("host=h password = 'a \\' b' user=u\\ v", "password", Some("a ' b"))]
#[case("host='' port=1", "host", None)]
fn the_last_value_counts(#[case] text: &str, #[case] name: &str, #[case] expected: Option<&str>) {
    assert_eq!(Conninfo::read(text).get(name), expected);
}

#[rstest]
#[case("postgres://h/db", "postgres://h/db?t=1")]
#[case("postgres://h/db?", "postgres://h/db?t=1")]
#[case("postgres://h/db?a=b", "postgres://h/db?a=b&t=1")]
#[case("postgres://q:p?w@h/db", "postgres://q:p?w@h/db?t=1")]
#[case("postgres:///db?host=/tmp/a@b", "postgres:///db?host=/tmp/a@b&t=1")]
#[case("host=h t = 3", "host=h t = 3 t='1'")]
#[case("host=h application_name=a://b", "host=h application_name=a://b t='1'")]
#[case("", "t='1'")]
fn a_parameter_is_added_behind_all_others(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(with(text, "t", "1"), expected);
}

#[rstest]
#[case("postgres://h/d", &[Remote])]
#[case("postgres://localhost,10.0.0.1/d", &[Loopback, Remote])]
#[case("host=db.example hostaddr=127.0.0.2", &[Loopback])]
#[case("host=/var/run/postgresql", &[Socket])]
#[case("postgres://[::1]/d", &[Loopback])]
#[case("dbname=d", &[])]
#[case("postgres:///d", &[])]
fn it_says_where_the_servers_are(#[case] text: &str, #[case] expected: &[ServerPlace]) {
    assert_eq!(Conninfo::read(text).places(), expected);
}
