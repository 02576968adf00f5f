/** What `mf --help` prints. */
export const HELP = `Usage: mf <command> [options]

  mf new [--ttl 15] [--label name=value] [--env | --export]   a new inbox; prints its address
  mf code [--pattern RE]                                       waits for a mail with a code; prints the code
  mf link [--href PART] [--kind verify|reset|sign-in]          waits for a mail with the link; prints its target
  mf wait                                                      waits for a mail; prints its id
  mf silence [--for 2s]                                        fails when a mail comes
  mf tail [--all]                                              prints mails as they come
  mf list [--all] · mf read [ID] [--text|--html|--raw] · mf save FILE [ID] · mf open
  mf timeline [ID] · mf lint [ID]                              when what happened to a mail; what is wrong with it
  mf faults ['JSON']                                           sets the fault rules of the inbox, [] for none; prints them
  mf rm [--label name=value]                                   deletes the inbox, or all with the labels
  mf report --label name=value                                 what was wrong with the mail of a test run
  mf call 'METHOD /v1/PATH' [JSON|@FILE]                       any operation of the API; prints its JSON
  mf wait-ready                                                waits for the server

Waits: --subject, --from, --to, --body (part of it), --timeout 30s. Every command: --json, --inbox ID-or-address.
Environment: MAYFLY_URL, MAYFLY_API_KEY; INBOX_ID and INBOX_TOKEN as \`eval "$(mf new --export)"\` sets them.
Exit codes: 0 found, 1 usage, 2 not reachable or refused, 3 timed out, 4 silence broken.
`;
