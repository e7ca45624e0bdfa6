//! The menu of `release --interactive` on the terminal: keys in, lines out. What keys do is the menu's affair.

use std::fs::File;
use std::io::{Read, Write};

use rustix::termios::{self, LocalModes, OptionalActions, Termios};

use super::problem::Problem;
use crate::client::{Key, Menu};

/// Rows of a terminal that does not tell.
const HEIGHT: usize = 24;
/// Hides the cursor, and cuts lines that are too long instead of folding them: the menu is drawn over itself.
const BEGIN: &str = "\u{1b}[?25l\u{1b}[?7l";
/// Takes both back.
const END: &str = "\u{1b}[?7h\u{1b}[?25h";

/// The terminal, read key by key until this value goes away.
struct Keyboard {
    tty: File,
    before: Termios,
}

impl Keyboard {
    fn open() -> std::io::Result<Self> {
        let tty = File::options().read(true).write(true).open("/dev/tty")?;
        let before = termios::tcgetattr(&tty)?;
        let mut raw = before.clone();
        // Keys come one by one and unseen, and ^C is a key; output is left as it is.
        raw.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG);
        termios::tcsetattr(&tty, OptionalActions::Flush, &raw)?;
        Ok(Self { tty, before })
    }

    fn height(&self) -> usize {
        let size = termios::tcgetwinsize(&self.tty).ok().map(|size| usize::from(size.ws_row));
        size.filter(|rows| *rows > 0).unwrap_or(HEIGHT)
    }

    /// Waits for keys; the end of input is an abort.
    fn keys(&mut self) -> std::io::Result<Vec<Key>> {
        let mut bytes = [0_u8; 64];
        let count = self.tty.read(&mut bytes)?;
        Ok(if count == 0 { vec![Key::Abort] } else { keys(&bytes[..count]) })
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        // Nothing can be done for a terminal that is gone.
        termios::tcsetattr(&self.tty, OptionalActions::Flush, &self.before).ok();
        self.tty.write_all(END.as_bytes()).ok();
    }
}

/// What bytes mean; those that mean nothing are passed over.
fn keys(bytes: &[u8]) -> Vec<Key> {
    let (mut keys, mut rest) = (Vec::new(), bytes);
    while let [first, after @ ..] = rest {
        let (key, left) = match (first, after) {
            (0x1b, [b'[' | b'O', b'A', left @ ..]) => (Some(Key::Up), left),
            (0x1b, [b'[' | b'O', b'B', left @ ..]) => (Some(Key::Down), left),
            (0x1b, [b'[' | b'O', _, left @ ..]) => (None, left),
            (0x1b | 0x03 | 0x04 | b'q', left) => (Some(Key::Abort), left),
            (b'k', left) => (Some(Key::Up), left),
            (b'j', left) => (Some(Key::Down), left),
            (b' ', left) => (Some(Key::Toggle), left),
            (b'\r' | b'\n', left) => (Some(Key::Enter), left),
            (_, left) => (None, left),
        };
        keys.extend(key);
        rest = left;
    }
    keys
}

/// Shows the menu until it is left; gives it back, or nothing when it was aborted.
pub(super) fn choose(mut menu: Menu) -> Result<Option<Menu>, Problem> {
    let no_terminal = "--interactive needs a terminal; choose with --workload, --exclude and --update-image instead";
    let mut keyboard = Keyboard::open().map_err(|e| Problem::Usage(format!("{no_terminal} (/dev/tty: {e})")))?;
    let io = || Problem::io("the terminal");
    keyboard.tty.write_all(BEGIN.as_bytes()).map_err(io())?;
    let mut back = String::new();
    loop {
        let text = menu.text(keyboard.height());
        // Every line is cleared: rows of another length may stand there.
        let lines = text.replace('\n', "\u{1b}[K\n");
        keyboard.tty.write_all(format!("{back}{lines}").as_bytes()).map_err(io())?;
        back = format!("\u{1b}[{}A", text.lines().count());
        for key in keyboard.keys().map_err(io())? {
            match key {
                Key::Enter => return Ok(Some(menu)),
                Key::Abort => return Ok(None),
                other => menu.press(other),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_in_any_run_of_bytes() {
        let all = [Key::Up, Key::Down, Key::Down, Key::Toggle, Key::Up, Key::Enter];
        assert_eq!(keys(b"\x1b[A\x1bOBj \x1b[C\x1b[Dxk\r"), all);
        for abort in [&b"\x1b"[..], b"q", b"\x03"] {
            assert_eq!(keys(abort), [Key::Abort]);
        }
    }
}
