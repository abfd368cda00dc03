-- Of which other Akten the chats about an Akte were told: of two Akten the stricter counts.
CREATE TABLE gesehen (
    akte INTEGER NOT NULL REFERENCES akte (id),
    andere INTEGER NOT NULL,
    PRIMARY KEY (akte, andere)
) WITHOUT ROWID;
