"""Translates texts that the engine composed: errors, permission questions, notices.

The engine writes English, with values inside, and stores it so. Its templates stand here as it
writes them: a text is matched against them, and its values are put into the translation. So texts
of older databases are translated too, and no room below this one knows of languages.
``tests/ui/test_engine_texts.py`` finds a template that the engine does not write any more.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from .formatting import decimal
from .translation import language, tr, tr_later, tr_plural

TEMPLATES: tuple[str, ...] = (
    # Providers
    tr_later("There is no API key for {title}. Add one in the settings."),
    tr_later("There is no API key for {title}. Add one in the settings, or set {variable}."),
    tr_later("The command in key_command.{name} did not end within {seconds} s."),
    tr_later("The command in key_command.{name} cannot be run: there is no program {program}."),
    tr_later("The command in key_command.{name} prints more than a key."),
    tr_later("The command in key_command.{name} ended with {code}."),
    tr_later("The command in key_command.{name} printed nothing."),
    tr_later("{title} rejected the API key."),
    tr_later("The key ending in {end} does not work."),
    tr_later("The key ending in {end} does not work at {host}."),
    tr_later("{title} does not permit this."),
    tr_later("{title} has no model called {model}."),
    tr_later("{title} did not find it."),
    tr_later("{title} is limiting requests."),
    tr_later("{title} is overloaded."),
    tr_later("The conversation is too long for this model."),
    tr_later("The conversation needs {amount} tokens. The model takes {amount_most}."),
    tr_later("{title} refused to answer."),
    tr_later("{title} did not accept the request."),
    tr_later("{title} did not accept the conversation's history."),
    tr_later("The {title} account has no credit left."),
    tr_later("Can't reach {title} at {host}. Check the connection."),
    tr_later("Can't reach {title}. Check the connection."),
    tr_later("{title} had an error of its own."),
    tr_later("The server at {host} did not answer like {title}. Check the base URL."),
    tr_later("{title} stopped answering."),
    tr_later("The connection to {title} broke off."),
    tr_later("{reason} Name a model, or choose one in the settings."),
    tr_later("Lists, reads and searches files, in English. Often wrong; it changes nothing."),
    tr_later("No model is chosen. Choose one below the message."),
    # Evals
    tr_later("The eval {eval} was broken off. Run it again: what is done is not lost."),
    tr_later("It is not “{wanted}”."),
    tr_later("It does not contain “{wanted}”."),
    tr_later("It does not match {pattern}."),
    tr_later("It does not fit the schema: {reason}."),
    tr_later("“{expression}” does not hold."),
    tr_later("No price is known for its model."),
    tr_later("It cost {cost}."),
    tr_later("It took {seconds} s."),
    tr_later("It was not asked: {grader} failed."),
    tr_later("{amount} of {amount_most} cells have no result."),
    tr_later("{amount} of {amount_most} cells gave no new answer."),
    tr_later("{eval} has no cap. Give it a budget in its file, or --dollars or --tokens."),
    tr_later("{eval} has no case {case}."),
    tr_later("{eval} has no variant {variant}. It has {known}."),
    # Newer versions
    tr_later("The newest version cannot be asked for. Check the connection."),
    tr_later("The newest version cannot be asked for: status {status}."),
    tr_later("The newest version cannot be asked for: more than {most} redirects."),
    tr_later("The newest version was not asked for: its address leads to no page of the web."),
    tr_later(
        "The newest version was not asked for: its address leads to {host}, which is not encrypted."
    ),
    tr_later(
        "The newest version was not asked for: its address leads to {host}, which is not public."
    ),
    tr_later("The file with the newest version is too large."),
    tr_later("The file with the newest version cannot be read."),
    tr_later("The file with the newest version is about something else."),
    tr_later(
        "The file with the newest version is not signed by the makers of this program, "
        "so it was not believed."
    ),
    tr_later("Install the newer package over this one."),
    tr_later("Install the newer .deb with apt."),
    tr_later("Unpack the newer archive in the place of this one."),
    tr_later("Put the newer AppImage in the place of this one."),
    tr_later("Run the newer installer; it replaces this version."),
    tr_later("Drag the newer application over this one."),
    tr_later("Type: {command}"),
    # What the first line of a call says
    tr_later(
        "{name} is there already, and you have not read it in this chat. Read it first, "
        "or give it another name. Nothing was changed."
    ),
    # What a chat was exposed to
    tr_later("files in the folder"),
    tr_later("names in the folder"),
    tr_later("search results"),
    # Hooks
    tr_later("yours"),
    tr_later("this folder’s"),
    tr_later("a pack’s"),
    tr_later("of the pack {pack}"),
    tr_later("the hook {name} ({words_whose})"),
    tr_later("The hook {name} ({words_whose}) told the agent: {said}"),
    tr_later("The hook {name} ({words_whose}) says: {said}"),
    tr_later("The hook {name} ({words_whose}) changed a call of {tool}."),
    tr_later("The hook {name} ({words_whose}) sent the agent back: {said}"),
    tr_later("The hook {name} ({words_whose}) asks about it: {said}"),
    tr_later("A pack asks about it: {said}"),
    tr_later("Refused by a hook: {said}"),
    tr_later("The hook {name} ({words_whose}) refused this message: {said}"),
    tr_later("The hook {name} ({words_whose}) ended the turn: {said}"),
    tr_later("The hook {name} ({words_whose}) failed with {fault}."),
    tr_later("The hook {name} ({words_whose}) took more than {seconds} s and was ended."),
    tr_later("The hook {name} ({words_whose}) printed more than {bytes} bytes and was ended."),
    tr_later("The hook {name} ({words_whose}) {words_fault}."),
    tr_later("printed JSON that cannot be read"),
    tr_later("The event {event} does not happen here."),
    tr_later("Hooks of the type {type} are not run here, only commands."),
    tr_later("It has no command."),
    tr_later("Its condition “if” is not known here."),
    tr_later("The shell {shell} is not used here."),
    tr_later("It has {seconds} s, although it asks for more."),
    tr_later("It is waited for, although it asks not to be."),
    tr_later("The matcher could take without end."),
    tr_later("The matcher is no regular expression."),
    tr_later("it switches all of its hooks off"),
    tr_later("Hooks do not run because of {path}: {words_problem}."),
    tr_later(
        "what you approved cannot be read ({why}). Calls that hooks guard are refused until you "
        "said again in the settings, under Hooks, what is to run"
    ),
    tr_later("is not what you approved: look at it in the settings, under Hooks"),
    tr_later(
        "The hook {name} ({words_whose}) wanted more, and has sent the agent back twice already."
    ),
    tr_later("This was stopped before your hooks had looked at it, so it was not sent."),
    tr_later("Offers a hook for {event}, off until you switch it on: {command}"),
    # MCP servers
    tr_later("ended with exit code {code}"),
    tr_later("was ended by signal {number}"),
    tr_later("closed its output"),
    tr_later("It wrote: {said}"),
    tr_later("It said last: {line}"),
    tr_later("The server {name} did not answer within {seconds} seconds."),
    tr_later("The server {name} does not start."),
    tr_later("The server {name} does not work."),
    tr_later("The server {name} is not connected."),
    tr_later("The server {name} says: {said}"),
    tr_later("There is no program {command} that may be run."),
    tr_later("There is no program {command}. It was looked for in {folders}."),
    tr_later("There is no folder {folder}."),
    tr_later("The variable {variable}, which the server {name} needs, is not set."),
    tr_later("The keychain has no {key}, which the server {name} needs."),
    tr_later(
        "The server {name} may not have the secret {key}: servers of a folder have none, and no "
        "server has one of another."
    ),
    tr_later("Switch it on after a look at what it runs."),
    tr_later("This looks like a secret. A server that is to be trusted does not ask for one here."),
    tr_later("{name} is needed."),
    tr_later("{name} is a whole number."),
    tr_later("{name} is a number."),
    tr_later("{name} is a text."),
    tr_later("{name} is yes or no."),
    tr_later("{name} is one of the choices."),
    tr_later("{name} are some of the choices."),
    tr_later("{name} is written as JSON."),
    tr_later("{name} has no choice “{text}”."),
    tr_later("{name} has at least {limit} characters."),
    tr_later("{name} has at most {limit} characters."),
    tr_later("{name} is at least {limit}."),
    tr_later("{name} is at most {limit}."),
    tr_later("{name} needs at least {limit} of them."),
    tr_later("{name} takes at most {limit} of them."),
    tr_later("{name} is an e-mail address."),
    tr_later("{name} is an address such as https://example.com."),
    tr_later("{name} is a day such as 2026-12-31."),
    tr_later("{name} is a time such as 2026-12-31T18:00:00Z."),
    tr_later("{server} asks: {message}"),
    tr_later("Install it, or write the whole path of the command."),
    tr_later(
        "Have uv fetched, which starts it: 20 MB from PyPI, here or with “agent-studio mcp get-uv”."
    ),
    tr_later("There is no uv to fetch for this computer’s system or processor."),
    tr_later("uv cannot be fetched from PyPI: status {status}."),
    tr_later("uv cannot be fetched from PyPI. Check the connection."),
    tr_later("What came is not the uv that this program knows, and was not kept."),
    tr_later("uv cannot be kept in {folder}: {error}."),
    tr_later(
        "It runs with your rights: it may read and change what you may, and reach the network."
    ),
    tr_later(
        "It runs in the sandbox, without network: nothing that it is told can leave this computer."
    ),
    tr_later(
        "It runs in the sandbox, with network: what agents send to it can leave this computer."
    ),
    tr_later("Of your home folder it sees where programs are installed, and a folder of its own."),
    tr_later("It may change what is in: {paths}"),
    tr_later("It may read what is in: {paths}"),
    tr_later("The server {name} is to run in the sandbox, which cannot be used: {reason}"),
    tr_later("Make the sandbox work, see docs/sandbox.md, or let it run with your rights."),
    tr_later("Look at the rights of the file, and at what the system says of it."),
    tr_later("Set the variable, or put the value into the keychain."),
    tr_later("Its log says why; start the command in a terminal to see it."),
    tr_later("It may be downloading: try again, or start the command in a terminal."),
    tr_later("It writes something else than MCP: see that the command starts the server itself."),
    tr_later("Look at the connection and at the address."),
    tr_later("Its certificate is not trusted here: ask whoever runs it."),
    tr_later("It wants you to sign in, in your browser."),
    tr_later("It wants you to sign in again, for more than you allowed it."),
    tr_later("Put a key of it into a header, or another one."),
    tr_later(
        "The server {name} wants you to sign in: Settings, MCP servers, or “agent-studio mcp login "
        "{command}”."
    ),
    tr_later("The sign-in to the server {name} failed: {words}."),
    tr_later("The sign-in to the server {name} cannot be renewed now: {words}. It is kept."),
    tr_later(
        "The server {name} has no sign-in that programs can use: put a key of it into a header."
    ),
    tr_later(
        "{place} lets no program register itself. Register Agent Studio there with the redirect "
        "address {redirect}, and enter the client ID that you get."
    ),
    tr_later("The sign-in was given up."),
    tr_later("the browser brought no answer in 10 minutes"),
    tr_later("the answer is not of {place} (wrong iss)"),
    tr_later("{place} cannot be reached: {words}."),
    tr_later("{place} cannot be reached: {words}"),
    tr_later("nothing answers there"),
    tr_later("its name is not known here"),
    tr_later("it does not answer in time"),
    tr_later("no way leads there from here"),
    tr_later("{place} does not register this program ({code})"),
    tr_later("{place} gives no token ({code})"),
    tr_later("{place} knows no PKCE with S256"),
    tr_later("{place} is not at https://, so others could read it"),
    tr_later("{place} answers with status {status}"),
    tr_later("The token may do less than this needs: make another one."),
    tr_later("Look at the path of the address; many end with /mcp."),
    tr_later("The runtime may be too old for it: look at which version it wants."),
    tr_later("It could not be downloaded: look at the connection and at the package's name."),
    tr_later("It has hidden characters."),
    tr_later("It gives orders to the model: “{said}”."),
    tr_later("Its name is like that of {other}."),
    tr_later("Its name mixes alphabets that look alike."),
    tr_later("It only runs as a task, which is not offered."),
    tr_later("its schema is no object"),
    tr_later("its schema describes no object"),
    tr_later("It names neither a command nor an address."),
    tr_later("It is reached over a WebSocket, which MCP does not have."),
    tr_later("It has no name that can be shown."),
    tr_later("Its package is of a kind that is not known here."),
    tr_later("It is a bundle: fetch the file, and import that."),
    tr_later("Its package listens at an address: start it, and add that address."),
    tr_later("It is not made for this system."),
    tr_later("The bundle was changed meanwhile: open it again."),
    tr_later("The bundle is damaged: the program that it starts is not in it."),
    tr_later("The zip file cannot be unpacked: {why}."),
    tr_later("The zip file is packed in a way that is not known: only deflate is."),
    tr_later("The zip file has more than {count} files."),
    tr_later("The zip file has folders more than {count} deep."),
    tr_later("The zip file has more than {count} MB."),
    tr_later("The zip file grows without measure when it is unpacked. Refused."),
    tr_later("It is no list of keys and values."),
    tr_later("It is a part of goose, not a server of its own."),
    tr_later("An extension of Zed brings it, and Zed alone knows how to start it."),
    tr_later("It cannot be read: {words}."),
    tr_later("no server is in it, neither its JSON nor its command or address"),
    tr_later("It is too large."),
    tr_later("It is not UTF-8 text."),
    # Model files
    tr_later("The network went away."),
    tr_later("The file is damaged and was deleted."),
    tr_later(
        "Its owner asks you to accept the terms on huggingface.co first. "
        "Then add your token of Hugging Face."
    ),
    tr_later("Hugging Face refuses it. It may be private: add your token of Hugging Face."),
    tr_later("Hugging Face does not have this file any more."),
    tr_later("The disk is too full."),
    tr_later("{words} Make {size} GB of room, or choose another folder."),
    tr_later("The file cannot be written."),
    tr_later("Its owner gives no checksum, so it was not fetched."),
    tr_later("The download ended by itself."),
    tr_later("Hugging Face rejected your token. Replace it."),
    tr_later("Hugging Face asks to wait. Search again in a minute."),
    tr_later("Hugging Face answered with an error (HTTP {status})."),
    tr_later("Hugging Face could not be reached. Check the network."),
    tr_later("What Hugging Face answered could not be read."),
    tr_later("The list of recommended models cannot be read."),
    tr_later("{name} is a part of a model. Choose {first} in the settings."),
    tr_later("A part of the model is missing: {name}. Get it again."),
    # Runs of workflows
    tr_later("It was stopped after {seconds} s."),
    tr_later(
        "The triggers of {source} are off: {words}. "
        "To switch them on again: agent-studio workflow triggers FILE on"
    ),
    tr_later("the file was changed"),
    tr_later(
        "You do not trust {folder}, so its files begin nothing by themselves. Look at "
        "them, then: agent-studio permissions trust"
    ),
    tr_later("The workflow needs the input {name}."),
    tr_later("The workflow needs the input {name}: {words}."),
    tr_later("you do not trust its folder any more"),
    tr_later("No run of {source} was begun. {words}"),
    tr_later("The program ended."),
    tr_later("It needs {step}, which failed."),
    tr_later("It needs {step}, which was left out."),
    tr_later("It needs {step}, which was stopped."),
    tr_later("“{condition}” is not true."),
    tr_later("“{condition}” does not hold."),
    tr_later("You did not approve it."),
    tr_later("You stopped it."),
    tr_later("You left it out."),
    tr_later("No item of a step asks this any more."),
    tr_later("Another step failed."),
    tr_later("It waits for {names}."),
    tr_later("It was left out, because {names} is not over."),
    tr_later("No sandbox here can show a copy of the folder to commands."),
    tr_later("{agent} worked on a copy of the folder, of which this was not taken over: {names}."),
    tr_later("No copy can be made, because {error}."),
    tr_later("The folder cannot be copied: {error}."),
    tr_later("1 file waits for you as drafts."),
    tr_later("{number} files wait for you as drafts."),
    tr_later("Your limit of {words} for this run is reached."),
    tr_later("Your limit of {number} cycles is reached."),
    tr_later("Your limit of 1 cycle is reached."),
    tr_later("Three cycles changed no check, no task and no draft."),
    tr_later("All checks pass, but these files changed, which they run: {files}. Do they count?"),
    tr_later("It is {time}, until when this mission may work."),
    tr_later("You took it over as a chat."),
    tr_later("You paused it."),
    tr_later("The check passes."),
    tr_later("All {count} checks pass."),
    tr_later("{name} does not pass."),
    tr_later("There is no file {path}."),
    tr_later("{path} is no JSON: {reason}."),
    tr_later("{path} does not fit its schema: {reason}."),
    tr_later("No agent has worked on this mission yet."),
    tr_later("1 minute"),
    tr_later("Another item failed."),
    tr_later("It is done again."),
    tr_later("The run stopped at {step}."),
    tr_later("{count} of {all} items failed: {reason}"),
    tr_later("It went back to {step} once, and “{condition}” still holds."),
    tr_later("It went back to {step} {count} times, and “{condition}” still holds."),
    tr_later("Nothing failed in {steps}."),
    tr_later("Failed, and passed over: {steps}."),
    tr_later("Another window or terminal carries out this run."),
    tr_later("The answer does not fit the outputs: {error}"),
    tr_later("Stopped before {step}."),
    tr_later("Stopped after {step}."),
    tr_later("“{when}” is no condition: {error}."),
    tr_later("A step can only need another one."),
    tr_later("{step} needs {other} by what it says. Change its words."),
    tr_later("A workflow has at least one step."),
    tr_later("There is no step {step}."),
    tr_later("There is a step {step} already."),
    tr_later("A step’s name has letters, digits and _, and begins with a letter."),
    tr_later("First mend the text: it cannot be read."),
    tr_later("{name}, run {number}, took its place."),
    tr_later("You said that it happened."),
    tr_later("It may have happened, and is done again: its effects are repeatable."),
    tr_later("It was not merged."),
    tr_later("It was left out, because {names} are not over."),
    tr_later("The group of concurrency cannot be told: {error}."),
    tr_later("Your limit of {words} for this step is reached."),
    tr_later("The agent has used {used} of your limit of {words} for this run. May it go on?"),
    tr_later("The agent has used {used} of your limit of {words} for this step. May it go on?"),
    # Limits and ends of turns
    tr_later("Your limit of {words} for one turn is reached."),
    tr_later("Your limit of {words} for this chat is reached."),
    tr_later("Your limit of {words} for today is reached."),
    tr_later("Your limit of {words} for this month is reached."),
    tr_later("The next request may exceed your limit of {words} for one turn."),
    tr_later("The next request may exceed your limit of {words} for this chat."),
    tr_later("The next request may exceed your limit of {words} for today."),
    tr_later("The next request may exceed your limit of {words} for this month."),
    tr_later("The next request may exceed your limit of {words} for this run."),
    tr_later("The next request may exceed your limit of {words} for this step."),
    tr_later("Your limit of {words} an hour is reached."),
    tr_later("${amount}"),
    tr_later("{amount} tokens"),
    tr_later("{model} reads only {amount} tokens, so it works without: {names}."),
    tr_later("{amount} requests"),
    tr_later("1 request"),
    tr_later("The agent used the one step of this turn."),
    tr_later("The agent used all {steps} steps of this turn."),
    tr_later("The turn reached its limit of {seconds} s."),
    tr_later("The agent is at step {step} of {steps} in this turn. May it go on?"),
    tr_later("The agent has worked {used} of {limit} in this turn. May it go on?"),
    tr_later("The agent has used {used} of your limit of {words} for one turn. May it go on?"),
    tr_later("The agent has used {used} of your limit of {words} for this chat. May it go on?"),
    tr_later("The agent has used {used} of your limit of {words} for today. May it go on?"),
    tr_later("The agent has used {used} of your limit of {words} for this month. May it go on?"),
    tr_later("Yes, {steps} more steps"),
    tr_later("Yes, {amount} more"),
    tr_later("No, come to an end"),
    tr_later("Yes, send it"),
    tr_later("No, send nothing"),
    tr_later("The model declined to answer."),
    tr_later("The conversation no longer fits the model's context."),
    tr_later("The answer reached the model's output limit."),
    tr_later("The agent went round in circles ({names}): nothing new came of it."),
    tr_later("The program ended during this turn."),
    tr_later("The program ended during this turn. You can go on from here."),
    tr_later("The program ended while this ran, which may have happened: {names}."),
    tr_later("What this turn changed was not recorded, so it cannot be undone."),
    # Notices in a chat
    tr_later("Earlier messages were summed up to save room."),
    tr_later("Older results were shortened to save room."),
    tr_later("What is above was told by the client, or imported. None of it happened here."),
    tr_later("The summary of earlier messages was edited."),
    tr_later("The summary of earlier messages was undone."),
    tr_later("The person changed which messages are kept whole."),
    tr_later("The provider did not accept the history. It was built anew from the conversation."),
    tr_later("The saved history was damaged: {damage}. It was built anew from the conversation."),
    tr_later("Who searches the web has changed. The history was built anew with it."),
    tr_later("There are new tools: {names}. The history was built anew with them."),
    tr_later("Now on {model}. Everything was carried over."),
    tr_later("Now on {model}. Everything was carried over except what the earlier model thought."),
    tr_later("There is too little before your last message to sum up."),
    tr_later(
        "The summary could not be written ({why}). Each of the earlier exchanges was shortened to "
        "a line instead."
    ),
    tr_later("This looks like {words_task}, so {words_does}."),
    tr_later("{model} got stuck, so {words_does}."),
    tr_later("a quick question"),
    tr_later("a small task"),
    tr_later("a task"),
    tr_later("a hard task"),
    tr_later("{model} answers at once"),
    tr_later("{model} works on it in the background"),
    tr_later("Another window or terminal is working in this chat. Wait for it."),
    tr_later("Another window or terminal went on with this chat. Open it again."),
    tr_later("This session is still working. Stop it first, or wait."),
    tr_later("There is nothing to send. Write a message first."),
    tr_later(
        "What you called runs commands, and {agent} may run none now. Choose another agent, or "
        "leave the plan mode."
    ),
    tr_later("/{name} runs {number} commands; {most} is the most."),
    tr_later("The folder {folder} is not there any more. Choose another folder."),
    # Costs
    tr_later("Estimate"),
    tr_later("Partly an estimate"),
    tr_later("The provider’s figure"),
    tr_later("1 request has no known price"),
    tr_later("{amount} requests have no known price"),
    tr_later("Nothing changed here. The provider had dropped it."),
    tr_later("The model changed."),
    tr_later("The history began anew."),
    tr_later("An earlier part of the conversation changed."),
    tr_later("The thinking setting changed."),
    # Permission questions and their reasons
    tr_later("{agent} wants to run a command"),
    tr_later("{agent} wants to use {tool}"),
    tr_later("{agent} wants to type into a command that runs"),
    tr_later("{agent} wants to start {child} in the background"),
    tr_later("{agent}, in the background, is done."),
    tr_later("{agent}, in the background, has ended. {words_why}"),
    tr_later("It types into a command that runs."),
    tr_later("Network allowed"),
    tr_later("No network"),
    tr_later("Stops after {words_span}"),
    tr_later("{number} min"),
    tr_later("{number} s"),
    tr_later("This agent may not use {tool}."),
    tr_later("You want a plan first."),
    tr_later("It asks for the network."),
    tr_later("It only reads in the folder."),
    tr_later("A client of the server wants it."),
    tr_later("It writes to {path}, which can change what programs do later."),
    tr_later("It reads {path}, which a rule protects."),
    tr_later("It writes to a file that is only known when it runs."),
    tr_later("It reads a file that is only known when it runs."),
    tr_later("It writes to {path}, outside the folder."),
    tr_later("It reads {path}, outside the folder."),
    tr_later("It reads from outside the folder."),
    tr_later("{path} is outside the folder."),
    tr_later("{path} can change what programs do later."),
    tr_later("Drafts are written at once."),
    tr_later("Drafts wait for approval."),
    tr_later("{tool} acts, and no rule allows it."),
    tr_later("No rule allows this command."),
    tr_later("{rule} lets the agent run any program."),
    tr_later("With other arguments {name} may run any program or write any file."),
    tr_later("{name} runs code of the folder: this rule lets it run any program."),
    tr_later("{names} run code of the folder: these rules let them run any program."),
    tr_later("No rule allows “{first}”, “{second}”, “{third}” and {count} more."),
    tr_later("No rule allows “{first}”, “{second}” and “{third}”."),
    tr_later("No rule allows “{first}” and “{second}”."),
    tr_later("No rule allows “{first}”."),
    tr_later("There is nothing to run in it."),
    tr_later("Your rule for this chat {rule} allows it."),
    tr_later("Your rule for this chat {rule} asks about it."),
    tr_later("Your rule for this chat {rule} refuses it."),
    tr_later("Your rule for the server’s clients {rule} allows it."),
    tr_later("Your rule for the server’s clients {rule} asks about it."),
    tr_later("Your rule for the server’s clients {rule} refuses it."),
    tr_later("Your rule {rule} allows it."),
    tr_later("Your rule {rule} asks about it."),
    tr_later("Your rule {rule} refuses it."),
    tr_later("The project’s rule {rule} allows it."),
    tr_later("The project’s rule {rule} asks about it."),
    tr_later("The project’s rule {rule} refuses it."),
    tr_later("The agent’s rule {rule} allows it."),
    tr_later("The agent’s rule {rule} asks about it."),
    tr_later("The agent’s rule {rule} refuses it."),
    tr_later("The built-in rule {rule} asks about it."),
    tr_later("The built-in rule {rule} refuses it."),
    tr_later("your rule for this chat {rule}"),
    tr_later("your rule {rule}"),
    tr_later("the project’s rule {rule}"),
    tr_later("the agent’s rule {rule}"),
    tr_later("the built-in rule {rule}"),
    tr_later("the plan mode"),
    tr_later("the automatic mode"),
    tr_later("the agent’s role"),
    tr_later("reads in the folder"),
    tr_later("you, once"),
    tr_later("you, for this chat"),
    tr_later("you, for this folder"),
    tr_later("you, always"),
    # Tools, in the rows of a chat
    tr_later("Asking"),
    tr_later("Asked"),
    tr_later("Drafting"),
    tr_later("Drafted"),
    tr_later("Fetching"),
    tr_later("Fetched"),
    tr_later("Finding"),
    tr_later("Found"),
    tr_later("Listing"),
    tr_later("Listed"),
    tr_later("Looking into memory"),
    tr_later("Looked into memory"),
    tr_later("Recalling"),
    tr_later("Recalled"),
    tr_later("waits for you"),
    tr_later("kept"),
    tr_later("forgotten"),
    tr_later("Reading the board"),
    tr_later("Read the board"),
    tr_later("Writing on the board"),
    tr_later("Wrote on the board"),
    tr_later("Posting to"),
    tr_later("Posted to"),
    tr_later("Looking into the inbox"),
    tr_later("Looked into the inbox"),
    tr_later("Adding a task"),
    tr_later("Added a task"),
    tr_later("Taking a task"),
    tr_later("Took a task"),
    tr_later("Ending a task"),
    tr_later("Ended a task"),
    tr_later("changed meanwhile"),
    tr_later("open again"),
    tr_later("Looking up notes"),
    tr_later("Looked up notes"),
    tr_later("Noting"),
    tr_later("Noted"),
    tr_later("Outlining"),
    tr_later("Outlined"),
    tr_later("Planning"),
    tr_later("Planned"),
    tr_later("Reading"),
    tr_later("Read"),
    # Files of skills and commands
    tr_later("{file} has no description"),
    tr_later("the description is still the sample’s; say in it when an agent opens the skill"),
    tr_later("the file has no text"),
    tr_later("not used here: {path} comes first"),
    tr_later("a skill’s folder has a name of at most {number} of a-z, 0-9 and -"),
    tr_later("a command’s name has letters, digits, - and _ alone"),
    tr_later("a link leads out of the folder"),
    tr_later("more than {number} folders"),
    tr_later("this is not text"),
    tr_later("this is not UTF-8 text"),
    tr_later("this is not an ordinary file"),
    tr_later("the file is larger than {number} bytes"),
    tr_later("Opening the skill"),
    tr_later("Opened the skill"),
    tr_later("Delegating to"),
    tr_later("Delegated to"),
    tr_later("Looking after"),
    tr_later("Looked after"),
    tr_later("Waiting for"),
    tr_later("Waited for"),
    tr_later("Telling"),
    tr_later("Told"),
    tr_later("Waits for you"),
    tr_later("Reading note"),
    tr_later("Read note"),
    tr_later("Running"),
    tr_later("Ran"),
    tr_later("Searching"),
    tr_later("Searched"),
    tr_later("Searching the web"),
    tr_later("Searched the web"),
    tr_later("{amount} of {count} done"),
    tr_later("{words} or more"),
    tr_later("stopped after {seconds} s"),
    tr_later("stopped by you"),
    tr_later("stopped"),
    tr_later("runs"),
    tr_later("goes on as job {id}"),
    tr_later("ended by {signal}"),
    tr_later("Checking"),
    tr_later("Checked"),
    tr_later("exit {code}"),
    tr_later("Only if the server wants one"),
    tr_later("Of the pack {pack}"),
    tr_later("This folder’s"),
    tr_later("This folder’s, not trusted"),
    # Drafts
    tr_later("This draft no longer waits."),
    tr_later("This draft is decided already."),
    tr_later("Could not undo: {why}"),
    # Packs
    tr_later(
        "This chat is about a thing of the pack “{pack}”, which is not on. Nothing was sent, "
        "because the pack says who may see it. Switch it on."
    ),
    tr_later("A pack could not say whether this may be sent: {why}"),
    # What a pack brings
    tr_later("By {author}, as it says"),
    tr_later("From: {origin}"),
    tr_later("Contents: SHA-256 {digest}…"),
    tr_later("Skills, which agents may open: {number}"),
    tr_later("Commands, which you call by hand: {number}"),
    tr_later("Agents: {number}"),
    tr_later("Workflows: {number}"),
    tr_later("MCP servers, each off until you switch it on"),
    tr_later("Hooks, commands that run at events"),
    tr_later("Tools in Python, files of code: {number}"),
    tr_later("Tables of its own database, steps: {number}"),
    tr_later("Pages in the window: {number}"),
    tr_later("Files of data: {number}"),
    tr_later(
        "Its pages in Python are not shown: only pages in YAML are, of a pack of this origin."
    ),
    tr_later("It brings nothing that is used here."),
    tr_later("Folders it would like to reach: {names}"),
    tr_later("Hosts it would like to reach: {names}"),
    tr_later("Secrets it would like from the keychain: {names}"),
    tr_later("That it says so allows none of it."),
    tr_later("Left out, or without effect"),
    tr_later("All files: {number}, {size} bytes"),
    tr_later(
        "The pack “{pack}” says who may see what is sent, and cannot be loaded, so nothing was "
        "sent. Correct it, or switch it off. {why}"
    ),
    tr_later("{what} cannot be masked, so this was not sent. Leave it out."),
    tr_later(
        "{file}: its tools are off, because it says what it needs (# /// script), so that uv runs "
        "it apart from the program, and uv was not found. Have it fetched in the settings, on the "
        "page Packs, or with “agent-studio mcp get-uv”."
    ),
    tr_later(
        "{file}: its tools are off, because a pack that is on has this name. Rename the file."
    ),
    tr_later("The head of {file} (# /// script) is wrong: it was left out."),
    tr_later(
        "{pack}: its tools are off, because they need uv to run apart from the program, and uv "
        "was not found. Have it fetched in the settings, on the page Packs, or with "
        "“agent-studio mcp get-uv”."
    ),
    # Agent files and rules
    tr_later("Change “{key}” in the text: it is written in a way of its own."),
    tr_later("First mend the text, line {number}: {words}."),
    tr_later("{name} is larger than {size} bytes, too large to edit."),
    tr_later("{name} is not UTF-8 text."),
    tr_later("{name} is not there any more."),
    tr_later("“{text}” is not a rule. Write TOOL or TOOL(PATTERN)."),
    tr_later("“{text}” has **/ more than three times."),
    tr_later("“{text}” has an empty pattern. Write TOOL for all of its calls."),
    # Files and keys
    tr_later("{name} is empty."),
    tr_later("{name} cannot be read: {why}."),
    tr_later("{name} is a folder. Attach files, or name the folder."),
    tr_later("{name} is not an ordinary file."),
    tr_later("This computer has no keychain that can be used."),
    tr_later("The system's keychain is locked."),
    tr_later("The system's keychain does not answer."),
    tr_later("The system's keychain reports an error."),
    tr_later("{words} The key can be kept for this session only."),
    tr_later("The key is empty."),
    tr_later("The disk is full. Free some space on the disk of {path}."),
    tr_later("Another program is using {path}. Close it and try again."),
    # Ends of turns, damage and problems with files
    tr_later("Stopped at the step limit."),
    tr_later("Stopped at the token limit."),
    tr_later("Stopped at the money limit."),
    tr_later("Stopped at the time limit."),
    tr_later("Stopped at the limit of requests an hour."),
    tr_later("The tools that were called are run by whoever asked."),
    tr_later("Stopped, because nothing new came of it."),
    tr_later("Stopped."),
    tr_later("The turn ended."),
    tr_later("The model declined to answer ({words_category})."),
    tr_later("biology"),
    tr_later("forbidden words"),
    tr_later("content filter"),
    tr_later("computer security"),
    tr_later("quoting too closely"),
    tr_later("personal data"),
    tr_later("The next one can be sent in {words_span}."),
    tr_later("It asks for a wait of {words_span}."),
    tr_later("{number} minutes"),
    tr_later("{number} hours"),
    tr_later("Something went wrong in the program"),
    tr_later("Your message is kept."),
    tr_later("The disk is full. Free some space."),
    tr_later("The connection closed before the answer was complete."),
    tr_later("There is no provider {name}. Known are {known}."),
    tr_later("There is no agent {name}. Known are {known}."),
    tr_later("There is no tool {name}. Known are {known}."),
    tr_later("There is no rule {id}."),
    tr_later("There is no draft {id}."),
    tr_later(
        "The {title} provider has no address. Set its base URL in the settings, or {variable}."
    ),
    tr_later(
        "The model {model} is not on this computer any more. Choose another for this chat, or "
        "download it again in the settings."
    ),
    tr_later("{name} could not be loaded: {why}."),
    tr_later("{name} is not a GGUF file. Choose another in the settings."),
    tr_later(
        "This package runs no models itself. Install the package agent-studio in the place of "
        "agent-studio-light."
    ),
    tr_later("The built-in model is not installed. `agent-studio doctor` says how to install it."),
    tr_later("The built-in model did not start within {seconds} s."),
    tr_later("The built-in model cannot start on this system: {why}."),
    tr_later("The model file {path} is not there. Choose another in the settings."),
    tr_later("The model file {path} cannot be read: {why}."),
    tr_later("Hugging Face has no model {name} that could be run here."),
    tr_later("Name a repository of Hugging Face, Qwen/Qwen3-4B-GGUF for example."),
    tr_later("{name} is no GGUF file."),
    tr_later("The list could not be read."),
    tr_later(
        "Your default agent {name} is this folder’s here, and you do not trust the folder. "
        "Choose an agent, or trust the folder."
    ),
    tr_later(
        "Your message, with the instructions, is about {amount} tokens, and {model} reads "
        "{amount_most} at once. Shorten it, attach less, or choose a model that reads more."
    ),
    tr_later("{path} cannot be read ({why})."),
    tr_later("{path} cannot be written ({why})."),
    tr_later("{path} cannot be written ({why}). The settings hold until the program ends."),
    tr_later(
        "{path} was written by a newer version of this program (its format is {version}, this "
        "version knows {latest}). Install the newer version. The file was not changed."
    ),
    tr_later("{path} is damaged. Close the other programs that use it."),
    tr_later("{path} is damaged and cannot be repaired ({why})."),
    tr_later("Allow writing to the file and its folder, and free space for a copy of it."),
    tr_later(
        "The folder {path} cannot be made: {why}. The variable AGENT_STUDIO_HOME can name another "
        "place."
    ),
    tr_later("This message is no longer in the chat."),
    tr_later("This chat was deleted, so its latest messages cannot be saved."),
    tr_later("This chat was deleted, so it cannot be continued."),
    tr_later("This chat is closed."),
    tr_later("This chat can only be read: {words_damage}. Continue in a new chat."),
    tr_later("A part of this chat could not be saved ({name})."),
    tr_later("An entry is missing here: the saved chats were damaged."),
    tr_later("{amount} entries are missing here: the saved chats were damaged."),
    tr_later("1 entry is missing in {titles}."),
    tr_later("{amount} entries are missing in {titles}."),
    tr_later("Which entries are missing at the ends of chats is not known."),
    tr_later("1 chat has lost title, folder and settings."),
    tr_later("{amount} chats have lost title, folder and settings."),
    tr_later("Permission rules were among it, so those that allow something are taken back."),
    tr_later("Calls are missing in the audit."),
    tr_later("Some turns cannot be undone any more."),
    tr_later("Nothing is missing in the chats."),
    tr_later("1 entry cannot be read"),
    tr_later("{amount} entries cannot be read"),
    tr_later("entries are missing after number {number}"),
    tr_later("1 entry was changed"),
    tr_later(
        "An entry of this chat was changed by something else than this program, or by a fault "
        "of the disk. It is shown and used as stored now."
    ),
    tr_later(
        "{amount} entries of this chat were changed by something else than this program, or by "
        "a fault of the disk. They are shown and used as stored now."
    ),
    tr_later("The last turn ended in the middle of a tool call. That was repaired."),
    tr_later("The last turn ended in the middle of {number} tool calls. That was repaired."),
    tr_later("This message was sent or taken back by now."),
    tr_later("A summary cannot be empty. Undo it instead."),
    tr_later(
        "Traces could not be sent to {address}. Check the address in the settings; the program "
        "works on without them."
    ),
    tr_later("{name} changed since {words_when}. Nothing was changed."),
    tr_later("{name} was deleted since {words_when}. Nothing was changed."),
    tr_later("the draft was made"),
    tr_later("{name} exists by now. Nothing was changed."),
    tr_later("{name} leads to {target} by now. Nothing was changed."),
    tr_later("{name} changed this moment. Nothing was changed."),
    tr_later("{name} is no ordinary file. Nothing was changed."),
    tr_later("{name} changed again. Nothing was done."),
    tr_later("{name} has this text already. Discard the draft."),
    tr_later("There is no file {name} any more."),
    tr_later("{name} is not kept any more and cannot be restored."),
    tr_later("{name} could not be kept, so it is not deleted."),
    tr_later("{name} is no text file."),
    tr_later("{name} is read-only."),
    tr_later("{name} is too big to be kept for undo ({size})."),
    tr_later("Nothing is known of files that this turn changed."),
    tr_later("{name} has {size}; {most} is the most for one file."),
    tr_later(
        "{name} has {size}; {most} is the most for one file. Name its path in the message: the "
        "agent can read parts of it."
    ),
    tr_later("The files have {size} together; a message takes {most}. Send some of them later."),
    tr_later("{name} is locked with a password. Save it without one, then attach it again."),
    tr_later("{name} has too many pixels to be opened. Make it smaller first."),
    tr_later(
        "“{name}” is no name for an agent. Use words of letters and digits, {most} characters "
        "at most."
    ),
    tr_later("There is an agent {name} already. Choose another name."),
    tr_later("{name} changed on disk. Nothing was written."),
    tr_later("{name} was deleted on disk."),
    tr_later("“{entry}” cannot be masked. Known are {known}, and NAME=PATTERN for your own."),
    tr_later("Timed out after {seconds} s."),
    tr_later("{amount} entries were changed"),
    tr_later("{words_reason} Remove it, or choose another model."),
    # Many items
    tr_later("{amount_tried} of {amount} items tried. Run the rest?"),
    tr_later("You kept only the sample."),
    tr_later("Answer not valid"),
    tr_later("Timed out"),
    tr_later("Too long, or a limit was reached"),
    tr_later("May have happened"),
    tr_later("It ended in the middle of an action that may have happened."),
    tr_later("The items of this step are not stored any more."),
    tr_later("{agent} has tools, and batches take agents without any."),
    tr_later("{provider} has no batches. Use via: live."),
    tr_later("A pack decides about each request, so nothing goes out as a batch."),
    tr_later("The provider did not accept the batch: {reason}"),
    tr_later("A batch of one item may cost more than what is left of your limit."),
    tr_later("{amount_failed} of {amount} items failed: {words_reason}"),
    tr_later("{passed} passed, {failed} failed."),
    tr_later("{passed} passed, {failed} failed. The sample cost {cost}."),
    tr_later("Now, one by one: about {cost}, about {span}."),
    tr_later("As a batch of the provider: about {cost}, up to 24 hours."),
    tr_later("Between {least} and {most} (95 %)."),
    tr_later("The price of the model is not known. It takes about {span}."),
    tr_later("Never above the budget of {cost}."),
    tr_later("{least} to {most} may fail."),
    tr_later("The estimate is from {passed} items that passed."),
    tr_later("The answer was longer than it may be."),
    tr_later("The model refused to answer."),
    tr_later("The provider stopped the answer because of what it says."),
    tr_later("The item is longer than the model reads."),
    tr_later("The model gave no answer."),
    # Titles of providers, and what the shipped agents and workflows do
    tr_later("Built-in model"),
    tr_later("OpenAI-compatible"),
    tr_later("The model alone, with no tools and no instructions"),
    tr_later("Writes and edits texts, notes and documentation"),
    tr_later("Reads, changes and tests code in the folder"),
    tr_later("Reviews code and drafts without changing anything"),
    tr_later("Finds and compares what the files say, with sources"),
    tr_later("Answers questions and looks things up in the folder"),
    tr_later("Plans a change or a piece of work, and carries none of it out"),
    tr_later("Runs and writes tests, and says what they show"),
    tr_later("Splits large work among other agents and puts the results together"),
    tr_later("Looks for what is wrong with a plan, a text or a result"),
    tr_later("Writes tools for agents as small Python files"),
    tr_later("Sums up each file of a folder side by side, and puts the sums into one table"),
    tr_later("Collects what changed, writes the notes, has them checked, and waits for your yes"),
    tr_later("Splits a question, answers the parts side by side, and checks the report"),
    tr_later(
        "Two reviewers look at the folder's changes, and a third puts their findings together"
    ),
    tr_later("Looks through the notes about this folder, and proposes which to merge or forget"),
    tr_later("Which files"),
    tr_later("Where the table goes"),
    tr_later("Where to begin"),
    tr_later("Where the notes go"),
    tr_later("What you want to know"),
    tr_later("What to review"),
    # How a server ended: last, as much begins so
    tr_later("It {words_how}."),
)
"""Values stand in braces; those whose names begin with ``words`` are texts of the engine too,
and those that begin with ``amount`` are numbers with English commas.

Of two that match, the first counts.
"""
_COUNTED: dict[str, Callable[[int], str]] = {
    "answer": lambda n: tr_plural("{count} answer", "{count} answers", n),
    "character": lambda n: tr_plural("{count} character", "{count} characters", n),
    "cell": lambda n: tr_plural("{count} cell", "{count} cells", n),
    "entry": lambda n: tr_plural("{count} entry", "{count} entries", n),
    "file": lambda n: tr_plural("{count} file", "{count} files", n),
    "line": lambda n: tr_plural("{count} line", "{count} lines", n),
    "match": lambda n: tr_plural("{count} match", "{count} matches", n),
    "note": lambda n: tr_plural("{count} note", "{count} notes", n),
    "page": lambda n: tr_plural("{count} page", "{count} pages", n),
    "result": lambda n: tr_plural("{count} result", "{count} results", n),
    "row": lambda n: tr_plural("{count} row", "{count} rows", n),
    "word": lambda n: tr_plural("{count} word", "{count} words", n),
}
"""What tools say that they found."""
_COUNT = re.compile(r"([\d,]+) (\w+)")
_VALUE = re.compile(r"\{(\w+)\}")
_LONGEST = 4_000
"""Characters; the engine writes no such text, and an imported chat must not stop the window."""
_SENTENCES = 12
"""Of one text, at most, at whose ends a template may end."""


def tr_engine(text: str) -> str:
    """A text of the engine in the person's language; as it is where no template matches.

    Where only its first sentences are known, as before the words of a provider, the rest stays.
    """
    if not text or language() == "en" or len(text) > _LONGEST:
        return text
    return _translated(language(), text)


@lru_cache(maxsize=2000)
def _translated(_language: str, text: str) -> str:
    if found := _whole(text):
        return found
    ends = [match.end(1) for match in re.finditer(r"([.!?]) ", text)]
    for end in reversed(ends[:_SENTENCES]):
        if found := _whole(text[:end]):
            return f"{found} {tr_engine(text[end + 1 :])}"
    return text


def _whole(text: str) -> str:
    """The translation where a template is all of the text, or empty."""
    if match := _COUNT.fullmatch(text):
        thing = re.sub(r"ies$", "y", match[2]).removesuffix("s").replace("matche", "match")
        if counted := _COUNTED.get(thing):
            return counted(int(match[1].replace(",", "")))
    for template, pattern in _patterns():
        if match := pattern.fullmatch(text):
            values = match.groupdict()
            return tr(template).format(**{name: _value(name, values[name]) for name in values})
    return ""


def _value(name: str, text: str) -> str:
    if name.startswith("words"):
        return tr_engine(text)
    if name.startswith("amount") and re.fullmatch(r"[\d,]+(\.\d+)?", text):
        whole, _, part = text.replace(",", "").partition(".")
        return decimal(float(f"{whole}.{part or 0}"), len(part))
    return text


@lru_cache(maxsize=1)
def _patterns() -> list[tuple[str, re.Pattern[str]]]:
    return [(template, _pattern(template)) for template in TEMPLATES]


_ONE_WORD = {"code": r"\S+"}
"""What such a value is, where another sentence may follow."""


def _pattern(template: str) -> re.Pattern[str]:
    parts = _VALUE.split(template)
    words = [
        f"(?P<{part}>{_ONE_WORD.get(part, '.+?')})" if n % 2 else re.escape(part)
        for n, part in enumerate(parts)
    ]
    return re.compile("".join(words), re.DOTALL)
