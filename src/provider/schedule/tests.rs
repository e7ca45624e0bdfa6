//! Tables of cron expressions, changes of clocks, windows and requeues. The vectors are those of resourceset §8.10.

use super::*;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn spec(cron: &str, zone: &str, window: &str) -> ScheduleSpec {
    ScheduleSpec { cron: cron.to_owned(), time_zone: zone.to_owned(), window: window.to_owned() }
}

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

fn schedules(specs: &[ScheduleSpec]) -> Schedules {
    Schedules::parse(specs, 5 * MINUTE).unwrap()
}

fn next(cron: &str, zone: &str, after: &str) -> Option<String> {
    Cron::parse(cron, zone).unwrap().next(at(after)).map(|at| at.to_string())
}

fn previous(cron: &str, zone: &str, until: &str) -> Option<String> {
    Cron::parse(cron, zone).unwrap().previous(at(until)).map(|at| at.to_string())
}

#[test]
fn expressions_trigger_when_they_say() {
    for (cron, after, want) in [
        ("0 9 * * *", "2025-03-05T08:59:59Z", "2025-03-05T09:00:00Z"),
        ("0 9 * * *", "2025-03-05T09:00:00Z", "2025-03-06T09:00:00Z"),
        ("*/15 * * * *", "2025-03-05T09:00:01Z", "2025-03-05T09:15:00Z"),
        ("5/20 * * * *", "2025-03-05T09:26:00Z", "2025-03-05T09:45:00Z"),
        ("0-10/5,30 8-9 * * ?", "2025-03-05T09:10:00Z", "2025-03-05T09:30:00Z"),
        ("0 0 1 JAN *", "2025-03-05T09:10:00Z", "2026-01-01T00:00:00Z"),
        ("0 0 * * mon-fri", "2025-03-07T12:00:00Z", "2025-03-10T00:00:00Z"),
        // one restricted day field is enough when both are
        ("0 0 13 * 5", "2025-06-01T00:00:00Z", "2025-06-06T00:00:00Z"),
        ("0 0 13 * 5", "2025-06-06T00:00:00Z", "2025-06-13T00:00:00Z"),
        // a step of a star restricts, a star with step 1 does not
        ("0 0 */2 * 1", "2025-06-01T00:00:00Z", "2025-06-02T00:00:00Z"),
        ("0 0 */1 * 1", "2025-06-03T00:00:00Z", "2025-06-09T00:00:00Z"),
        ("@hourly", "2025-03-05T09:10:00Z", "2025-03-05T10:00:00Z"),
        ("@daily", "2025-03-05T09:10:00Z", "2025-03-06T00:00:00Z"),
        ("@midnight", "2025-03-05T09:10:00Z", "2025-03-06T00:00:00Z"),
        ("@weekly", "2025-03-05T09:10:00Z", "2025-03-09T00:00:00Z"),
        ("@monthly", "2025-03-05T09:10:00Z", "2025-04-01T00:00:00Z"),
        ("@yearly", "2025-03-05T09:10:00Z", "2026-01-01T00:00:00Z"),
        ("@annually", "2025-03-05T09:10:00Z", "2026-01-01T00:00:00Z"),
        ("@every 90m", "2025-03-05T09:10:00.5Z", "2025-03-05T10:40:00Z"),
        ("@every 10ms", "2025-03-05T09:10:00Z", "2025-03-05T09:10:01Z"),
    ] {
        assert_eq!(next(cron, "UTC", after).as_deref(), Some(want), "{cron} after {after}");
    }
}

#[test]
fn zones_and_changes_of_the_clock_are_kept() {
    for (cron, zone, after, want) in [
        ("0 9 * * *", "Europe/Bucharest", "2025-03-05T00:00:00Z", "2025-03-05T07:00:00Z"),
        ("0 9 * * *", "Europe/Bucharest", "2025-07-05T00:00:00Z", "2025-07-05T06:00:00Z"),
        ("0 9 * * *", "America/New_York", "2025-03-08T15:00:00Z", "2025-03-09T13:00:00Z"),
        ("0 9 * * *", "Asia/Kolkata", "2025-03-08T00:00:00Z", "2025-03-08T03:30:00Z"),
        // 02:30 does not exist on the 9th of March
        ("30 2 * * *", "America/New_York", "2025-03-08T08:00:00Z", "2025-03-10T06:30:00Z"),
        // 01:30 comes twice on the 2nd of November
        ("30 1 * * *", "America/New_York", "2025-11-02T05:30:00Z", "2025-11-02T06:30:00Z"),
        // midnight does not exist there on that day
        ("0 0 * * *", "America/Sao_Paulo", "2018-11-03T12:00:00Z", "2018-11-05T02:00:00Z"),
        // the clock moves by half an hour
        ("15 2 * * *", "Australia/Lord_Howe", "2025-10-04T12:00:00Z", "2025-10-05T15:15:00Z"),
    ] {
        assert_eq!(next(cron, zone, after).as_deref(), Some(want), "{cron} {zone} after {after}");
    }
    assert_eq!(
        previous("30 2 * * *", "America/New_York", "2025-03-09T23:00:00Z").as_deref(),
        Some("2025-03-08T07:30:00Z")
    );
    assert_eq!(
        previous("30 1 * * *", "America/New_York", "2025-11-02T23:00:00Z").as_deref(),
        Some("2025-11-02T06:30:00Z")
    );
}

#[test]
fn leap_days_are_found_within_five_years_and_no_further() {
    let leap = "0 0 29 2 *";
    assert_eq!(next(leap, "UTC", "2025-03-01T00:00:00Z").as_deref(), Some("2028-02-29T00:00:00Z"));
    assert_eq!(previous(leap, "UTC", "2028-02-28T00:00:00Z").as_deref(), Some("2024-02-29T00:00:00Z"));
    assert_eq!(previous(leap, "UTC", "2024-02-29T00:00:00Z").as_deref(), Some("2024-02-29T00:00:00Z"));
    // 2100 is no leap year
    assert_eq!(next(leap, "UTC", "2096-03-01T00:00:00Z"), None);
    assert_eq!(previous(leap, "UTC", "2104-02-01T00:00:00Z"), None);
    assert_eq!(next("0 0 30 2 *", "UTC", "2025-01-01T00:00:00Z"), None);
}

#[test]
fn the_trigger_of_this_minute_is_the_previous_one() {
    for (cron, until, want) in [
        ("0 9 * * *", "2025-03-05T09:00:00Z", "2025-03-05T09:00:00Z"),
        ("0 9 * * *", "2025-03-05T08:59:59Z", "2025-03-04T09:00:00Z"),
        ("0 9 1 * *", "2025-03-05T08:00:00Z", "2025-03-01T09:00:00Z"),
        ("15,45 */6 * * *", "2025-03-05T05:00:00Z", "2025-03-05T00:45:00Z"),
        ("@every 1h", "2025-03-05T05:00:00.3Z", "2025-03-05T05:00:00Z"),
    ] {
        assert_eq!(previous(cron, "UTC", until).as_deref(), Some(want), "{cron} until {until}");
    }
}

#[test]
fn what_is_no_schedule_is_refused_in_the_words_of_the_original() {
    for (cron, zone, reason) in [
        ("", "UTC", "expected exactly 5 fields, found 0: []"),
        ("* * * *", "UTC", "expected exactly 5 fields, found 4: [* * * *]"),
        ("0 * * * * *", "UTC", "expected exactly 5 fields, found 6: [0 * * * * *]"),
        ("60 * * * *", "UTC", "end of range (60) above maximum (59): 60"),
        ("* * 0 * *", "UTC", "beginning of range (0) below minimum (1): 0"),
        ("* * * * 7", "UTC", "end of range (7) above maximum (6): 7"),
        ("5-1 * * * *", "UTC", "beginning of range (5) beyond end of range (1): 5-1"),
        ("*/0 * * * *", "UTC", "step of range should be a positive number: */0"),
        ("1/2/3 * * * *", "UTC", "too many slashes: 1/2/3"),
        ("1-2-3 * * * *", "UTC", "too many hyphens: 1-2-3"),
        ("x * * * *", "UTC", "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax"),
        ("* * L * *", "UTC", "failed to parse int from L: strconv.Atoi: parsing \"L\": invalid syntax"),
        ("@fortnightly", "UTC", "unrecognized descriptor: @fortnightly"),
        ("@every soon", "UTC", "failed to parse duration @every soon: time: invalid duration \"soon\""),
        ("* * * * *", "Mars/Base", "provided bad location Mars/Base: unknown time zone Mars/Base"),
    ] {
        let refusal = Schedules::parse(&[spec("@daily", "", ""), spec(cron, zone, "")], MINUTE).unwrap_err();
        let want =
            format!("failed to validate schedule[1]: failed to parse cron spec '{cron}' with timezone '{zone}': ");
        assert_eq!(refusal.to_string(), want + reason);
    }
    let refusal = Schedules::parse(&[spec("x", "", "")], MINUTE).unwrap_err().to_string();
    assert!(refusal.starts_with("failed to validate schedule[0]: failed to parse cron spec 'x': "), "{refusal}");
}

#[test]
fn windows_hold_two_passes() {
    let refusal =
        |window| Schedules::parse(&[spec("@daily", "UTC", window)], 5 * MINUTE).map(drop).map_err(|e| e.to_string());
    let want = |window: &str| {
        format!(
            "failed to validate schedule[0]: a non-zero window ({window}) must always be at least twice the timeout (5m0s)"
        )
    };
    assert_eq!(refusal("9m59s"), Err(want("9m59s")));
    assert_eq!(refusal("-1h"), Err(want("-1h0m0s")));
    assert_eq!((refusal("10m"), refusal("0s"), refusal("")), (Ok(()), Ok(()), Ok(())));
}

#[test]
fn a_pass_begins_only_when_it_ends_within_a_window() {
    let daily = spec("0 9 * * *", "UTC", "8h");
    for (specs, now, may) in [
        (vec![], "2025-03-05T03:00:00Z", true),
        (vec![daily.clone()], "2025-03-05T08:59:59Z", false),
        (vec![daily.clone()], "2025-03-05T09:00:00Z", true),
        (vec![daily.clone()], "2025-03-05T16:54:59Z", true),
        (vec![daily.clone()], "2025-03-05T16:55:00Z", false),
        // a schedule without a window holds nothing back
        (vec![daily.clone(), spec("0 0 1 1 *", "UTC", "0s")], "2025-03-05T03:00:00Z", true),
        (vec![daily, spec("0 2 * * *", "UTC", "2h")], "2025-03-05T03:00:00Z", true),
    ] {
        assert_eq!(schedules(&specs).may_run(at(now)), may, "{specs:?} at {now}");
    }
}

#[test]
fn the_earliest_trigger_is_the_next() {
    let both = schedules(&[spec("0 9 * * *", "UTC", "8h"), spec("0 6 * * *", "Europe/Bucharest", "0s")]);
    let run = both.next(at("2025-03-05T03:00:00Z")).unwrap();
    assert_eq!((run.cron.as_str(), run.time_zone.as_str()), ("0 6 * * *", "Europe/Bucharest"));
    assert_eq!((run.window.as_str(), run.shown()), ("0s", "2025-03-05T04:00:00Z".to_owned()));
    assert_eq!(both.next(at("2025-03-05T05:00:00Z")).unwrap().window, "8h0m0s");
}

#[test]
fn the_interval_rules_within_windows_and_triggers_rule_elsewhere() {
    let window = schedules(&[spec("0 9 * * *", "UTC", "8h")]);
    let none = schedules(&[spec("0 9 * * *", "UTC", "0s")]);
    for (schedules, now, interval, after, next) in [
        (&window, "2025-03-05T10:00:00Z", Some(HOUR), HOUR, None),
        (&window, "2025-03-05T18:00:00Z", Some(HOUR), 15 * HOUR, Some("2025-03-06T09:00:00Z")),
        (&window, "2025-03-05T08:30:00Z", Some(HOUR), 30 * MINUTE, Some("2025-03-05T09:00:00Z")),
        (&none, "2025-03-05T10:00:00Z", Some(HOUR), 23 * HOUR, Some("2025-03-06T09:00:00Z")),
        (&window, "2025-03-05T10:00:00Z", None, 23 * HOUR, Some("2025-03-06T09:00:00Z")),
    ] {
        let following = schedules.following(at(now), interval);
        assert_eq!(following.after, Some(after), "{now}");
        assert_eq!(following.next.map(|next| next.shown()).as_deref(), next, "{now}");
    }
    let free = Schedules::default();
    assert_eq!(free.following(at("2025-03-05T10:00:00Z"), Some(HOUR)).after, Some(HOUR));
    assert_eq!(free.following(at("2025-03-05T10:00:00Z"), None).after, None);
}
