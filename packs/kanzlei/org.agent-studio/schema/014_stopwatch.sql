-- The stopwatch of a person, which runs until the time is entered.
CREATE TABLE stoppuhr (
    person INTEGER PRIMARY KEY REFERENCES person (id),
    akte INTEGER NOT NULL REFERENCES akte (id),
    seit TEXT NOT NULL
);
