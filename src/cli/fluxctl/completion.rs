//! Completion scripts, made from the table of verbs.

use clap::{Arg, ArgAction, Command, ValueHint};
use clap_complete::Shell;

use super::super::flags::{Flag, Kind};
use super::problem::Problem;
use super::verbs::{GLOBAL, VERBS, Verb};

/// The script for the shell that the arguments name.
pub(super) fn script(rest: &[String]) -> Result<String, Problem> {
    let shell = match rest {
        [] => return Err(Problem::Usage("please specify a shell".to_owned())),
        [name] => match name.as_str() {
            "bash" => Shell::Bash,
            "fish" => Shell::Fish,
            "powershell" => Shell::PowerShell,
            "zsh" => Shell::Zsh,
            other => return Err(Problem::Usage(format!("unsupported shell type {other:?}"))),
        },
        _ => {
            let known = "please specify one of the following shells: bash fish powershell zsh";
            return Err(Problem::Usage(known.to_owned()));
        }
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command(), "fluxctl", &mut script);
    Ok(String::from_utf8_lossy(&script).into_owned())
}

/// The command line as clap knows it.
fn command() -> Command {
    let verbs = VERBS.iter().map(subcommand);
    Command::new("fluxctl").args(GLOBAL.iter().map(argument)).subcommands(verbs).disable_help_subcommand(true)
}

fn subcommand(verb: &'static Verb) -> Command {
    let mut command = Command::new(verb.last_word()).about(verb.about).visible_aliases(verb.aliases.iter().copied());
    command = command.disable_help_flag(true).args(GLOBAL.iter().chain(verb.flags).map(argument));
    command = command.subcommands(verb.below.iter().map(subcommand));
    match verb.name {
        "completion" => command.arg(Arg::new("shell").value_parser(["bash", "fish", "powershell", "zsh"])),
        "help" => command.arg(Arg::new("verb").value_parser(VERBS.iter().map(|v| v.name).collect::<Vec<_>>())),
        "trace" => command.arg(Arg::new("object")),
        _ if verb.arguments.contains("NAME") => command.arg(Arg::new("name")),
        _ => command,
    }
}

fn argument(flag: &'static Flag) -> Arg {
    let action = match flag.kind {
        Kind::Bool => ArgAction::SetTrue,
        Kind::Count => ArgAction::Count,
        _ => ArgAction::Append,
    };
    let mut arg = Arg::new(flag.name).long(flag.name).help(flag.help).action(action);
    match flag.name {
        "out" | "output-dir" => arg = arg.value_hint(ValueHint::DirPath),
        "filename" | "inputs-from" | "inputs-from-provider" | "against" | "kubeconfig" => {
            arg = arg.value_hint(ValueHint::FilePath);
        }
        "url" | "git-url" => arg = arg.value_hint(ValueHint::Url),
        _ => {}
    }
    flag.short.map_or(arg.clone(), |letter| arg.short(letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shell_gets_a_script_that_knows_all_verbs() {
        for shell in ["bash", "fish", "powershell", "zsh"] {
            let script = script(&[shell.to_owned()]).unwrap();
            for verb in VERBS {
                assert!(script.contains(verb.name), "{} in the script for {shell}", verb.name);
            }
        }
    }

    #[test]
    fn other_arguments_are_refused_as_in_v1() {
        let error =
            |rest: &[&str]| script(&rest.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>()).unwrap_err().to_string();
        assert_eq!(error(&[]), "please specify a shell");
        assert_eq!(error(&["tcsh"]), "unsupported shell type \"tcsh\"");
        assert!(error(&["bash", "x"]).starts_with("please specify one of the following shells: bash fish"));
    }
}
