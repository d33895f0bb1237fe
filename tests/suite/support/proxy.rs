//! A proxy over TCP before the server, which cuts a connection after so many bytes.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    ToServer,
    ToClient,
}

/// Where a connection is cut, in both directions: after its last byte.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    pub direction: Direction,
    /// The number of the last byte, counted over all connections.
    pub byte: usize,
    pub afterwards: Afterwards,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Afterwards {
    /// Lets new connections through.
    Open,
    Closed,
    /// Cuts nothing, but lets nothing pass any more.
    Frozen,
}

pub struct Proxy {
    port: u16,
    traffic: Arc<Mutex<Traffic>>,
}

struct Traffic {
    cut: Option<Cut>,
    to_server: Vec<u8>,
    to_client: Vec<u8>,
    is_cut: bool,
    is_over: bool,
    /// True if nothing passes, and neither side is told.
    is_frozen: bool,
}

impl Traffic {
    fn passed(&mut self, direction: Direction) -> &mut Vec<u8> {
        match direction {
            Direction::ToServer => &mut self.to_server,
            Direction::ToClient => &mut self.to_client,
        }
    }

    /// How many of these bytes may pass, and whether they are the last on this connection.
    fn admit(&mut self, direction: Direction, bytes: &[u8]) -> (usize, bool) {
        let before = self.passed(direction).len();
        let last = match self.cut {
            Some(cut) if cut.direction == direction && !self.is_cut => cut.byte.checked_sub(before),
            Some(_) | None => None,
        };
        let (admitted, cuts) = match last {
            Some(last) if last <= bytes.len() => (last, true),
            Some(_) | None => (bytes.len(), false),
        };
        self.passed(direction).extend_from_slice(&bytes[..admitted]);
        self.is_cut |= cuts;
        self.is_frozen |= cuts && self.cut.is_some_and(|cut| cut.afterwards == Afterwards::Frozen);
        (admitted, cuts && !self.is_frozen)
    }
}

impl Proxy {
    pub fn start(cut: Option<Cut>) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let traffic = Traffic {
            cut,
            to_server: Vec::new(),
            to_client: Vec::new(),
            is_cut: false,
            is_over: false,
            is_frozen: false,
        };
        let traffic = Arc::new(Mutex::new(traffic));
        let ours = Arc::clone(&traffic);
        let server = variable("TEST_POSTGRES_PORT");
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let (is_over, is_closed) = {
                    let traffic = traffic.lock().expect("traffic");
                    let closes = traffic.cut.is_some_and(|cut| cut.afterwards == Afterwards::Closed);
                    (traffic.is_over, traffic.is_cut && closes)
                };
                if is_over {
                    return;
                }
                if !is_closed {
                    let server = TcpStream::connect(format!("127.0.0.1:{server}")).expect("the server");
                    relay(client, server, &traffic);
                }
            }
        });
        Proxy { port, traffic: ours }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The URL of a database by this proxy. `sslmode`: disable or require.
    pub fn url(&self, database: &str, sslmode: &str) -> String {
        let password = variable("TEST_POSTGRES_PASSWORD");
        format!("postgres://postgres:{password}@127.0.0.1:{}/{database}?sslmode={sslmode}", self.port)
    }

    /// Loses everything, like a broken network: connections stay, and nothing passes until `thaw`.
    pub fn freeze(&self) {
        self.traffic.lock().expect("traffic").is_frozen = true;
    }

    pub fn thaw(&self) {
        self.traffic.lock().expect("traffic").is_frozen = false;
    }

    pub fn has_cut(&self) -> bool {
        self.traffic.lock().expect("traffic").is_cut
    }

    /// All bytes that have passed, without the good-byes at the end, for which nobody waits.
    pub fn passed(&self, direction: Direction) -> Vec<u8> {
        let mut passed = self.traffic.lock().expect("traffic").passed(direction).clone();
        while passed.ends_with(b"X\0\0\0\x04") {
            passed.truncate(passed.len() - 5);
        }
        passed
    }
}

#[expect(clippy::disallowed_methods, reason = "a test's own variable, no setting of sweep's")]
fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run the tests by `make test`"))
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.traffic.lock().expect("traffic").is_over = true;
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

/// Passes bytes both ways, each in a thread of its own.
fn relay(client: TcpStream, server: TcpStream, traffic: &Arc<Mutex<Traffic>>) {
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (client, server) = (Arc::new(client), Arc::new(server));
    for direction in [Direction::ToServer, Direction::ToClient] {
        let (client, server, traffic) = (Arc::clone(&client), Arc::clone(&server), Arc::clone(traffic));
        thread::spawn(move || {
            let (mut from, mut to) = match direction {
                Direction::ToServer => (&*client, &*server),
                Direction::ToClient => (&*server, &*client),
            };
            let mut buffer = [0; 65536];
            while let Ok(n @ 1..) = from.read(&mut buffer) {
                while traffic.lock().expect("traffic").is_frozen {
                    thread::sleep(std::time::Duration::from_millis(5));
                }
                let (admitted, cuts) = traffic.lock().expect("traffic").admit(direction, &buffer[..n]);
                if to.write_all(&buffer[..admitted]).is_err() || cuts {
                    break;
                }
            }
            let _ = (client.shutdown(Shutdown::Both), server.shutdown(Shutdown::Both));
        });
    }
}
