/** A program of others that talks to a node, unchanged, and a small source of ours that uses it. */
export interface Client {
  /** of its folder beside this file, and on the command line */
  readonly name: string
  /** the program or library with its version, as docs/clients.md lists it */
  readonly version: string
  /** what is done with it */
  readonly does: string
  /** commands that the machine must have */
  readonly needs: readonly string[]
  /** whether it needs the programs of PostgreSQL, as Debian installs them; then POSTGRES_URL names an empty database */
  readonly needsPostgres?: boolean
  /** fails where the machine has another version of a command than the client's packages are for */
  readonly check?: Command
  /** why it is skipped then */
  readonly otherwise?: string
  /** a variable that must name a program, where it is too large to be built for this */
  readonly variable?: string
  /** run in a copy of its folder, once for each list of packages */
  readonly install: readonly Command[]
  /** whether `install` also compiles the client's sources, so that it runs each time */
  readonly isCompiled?: boolean
  readonly run: Command
}

/** A program and its arguments. `node` is the one that runs the tests. */
export type Command = readonly [program: string, ...args: string[]]

/**
 * What a client is told by variables: RPC_URL and WS_URL (port 8080's `/`), COMET_URL (`/rpc`), REST_URL, GRPC_ADDRESS (`host:port`), EXPLORER_URL, PORT (a free one), CHAIN_ID and
 * COSMOS_CHAIN_ID, PRIVATE_KEY of a funded account that nobody else uses at the time, TOKEN (an OpenZeppelin ERC-20 all of whose supply is that
 * of the first account), TOKEN_BLOCK (of its creation), TOKEN_TX and COIN_TX (hashes of a transfer of each), NATIVE_TX (that of a native MsgSend),
 * SIGNED_TX (a signed transfer that nobody has sent), TOKEN_TRANSFERS (how many there are).
 */
export type ClientEnvironment = Readonly<Record<string, string>>
