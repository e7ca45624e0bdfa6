//! Times and durations. There is no `now`; `ago` asks the engine's clock, if it has one.

use super::super::exec::Fail;
use super::super::strconv;
use super::super::time::{self, Duration, SECOND, Time};
use super::super::value::Value;
use super::Type::{Any, Text, Time as TimeType};
use super::{Context, Definition, Given, function, string};

pub(super) const FUNCTIONS: &[Definition] = &[
    function("toDate", &[Text, Text], |_, args| {
        Ok(Value::Time(time::parse(&string(args, 0), &string(args, 1)).unwrap_or_else(|_| Time::zero())))
    }),
    function("mustToDate", &[Text, Text], |_, args| {
        time::parse(&string(args, 0), &string(args, 1)).map(Value::Time).map_err(Fail::Message)
    }),
    function("mustDateModify", &[Text, TimeType], modify),
    function("must_date_modify", &[Text, TimeType], modify),
    function("unixEpoch", &[TimeType], |_, args| match &args[0] {
        Value::Time(time) => Ok(time.seconds().to_string().into()),
        _ => Ok(Value::Nil),
    }),
    function("duration", &[Any], |_, args| {
        let seconds = match &args[0] {
            Value::Text(_) => strconv::nearest_int(&string(args, 0)),
            Value::Int64(seconds) => *seconds,
            _ => 0,
        };
        Ok(Duration(seconds.wrapping_mul(SECOND)).to_string().into())
    }),
    function("durationRound", &[Any], |cx, args| {
        let duration = match &args[0] {
            Value::Text(_) => Duration::parse(&string(args, 0)).unwrap_or(Duration(0)),
            Value::Int64(nanos) => Duration(*nanos),
            Value::Time(time) => now(cx)?.since(time),
            _ => Duration(0),
        };
        Ok(rounded(duration).into())
    }),
    function("ago", &[Any], |cx, args| {
        let now = now(cx)?;
        let then = match &args[0] {
            Value::Time(time) => time.clone(),
            Value::Int(seconds) | Value::Int64(seconds) => Time::unix(*seconds, 0),
            _ => now.clone(),
        };
        Ok(now.since(&then).rounded_to_seconds().to_string().into())
    }),
];

fn now(cx: &Context<'_, '_>) -> Result<Time, Fail> {
    match &cx.run.settings.clock {
        Some(clock) => Ok(clock()),
        None => Err("the time is not available here".into()),
    }
}

fn modify(_: &mut Context<'_, '_>, args: &[Value]) -> Given {
    let duration = Duration::parse(&string(args, 0)).map_err(Fail::Message)?;
    match &args[1] {
        Value::Time(time) => Ok(Value::Time(time.plus(duration))),
        _ => Ok(Value::Nil),
    }
}

/// The largest unit of which there is more than one whole.
fn rounded(duration: Duration) -> String {
    const UNITS: [(u64, &str); 6] =
        [(365 * 86_400, "y"), (30 * 86_400, "mo"), (86_400, "d"), (3_600, "h"), (60, "m"), (1, "s")];
    let nanos = duration.0.unsigned_abs();
    let found =
        UNITS.iter().map(|(seconds, name)| (seconds * SECOND.unsigned_abs(), name)).find(|(unit, _)| nanos > *unit);
    found.map_or_else(|| "0s".into(), |(unit, name)| format!("{}{name}", nanos / unit))
}
