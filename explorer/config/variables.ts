import { SHARED_EXPLORER_VARIABLES } from '../../src/config/explorerVariables.ts'
import { directory, duration, httpUrl, integer, text, yesOrNo } from '../../src/config/valueKind.ts'
import { type SettingsOf, VARIABLES, variable } from '../../src/config/variables.ts'

/** Every variable that the explorer reads, as the node reads its own. The documents are generated from this table. */
// biome-ignore format: one variable a line reads as the table it is
export const EXPLORER_VARIABLES = {
  nodeUrl: variable('EXPLORER_NODE_URL', 'Explorer', httpUrl, 'http://localhost:8080/', 'RPC address of the node that the explorer reads. No client gets to know it. To show state changes and calls of old blocks, that node must have all history (PRUNING=archive).', true),
  host: SHARED_EXPLORER_VARIABLES.host,
  port: SHARED_EXPLORER_VARIABLES.port,
  database: variable('EXPLORER_DATABASE', 'Explorer', text(4096), '~/.coind-explorer/index.sqlite', 'Where the index is: the path of an SQLite file, or a `postgres://` address. Several explorers can share a PostgreSQL database: one of them indexes.', true),
  publicRpcUrl: SHARED_EXPLORER_VARIABLES.publicRpcUrl,
  chainName: SHARED_EXPLORER_VARIABLES.chainName,
  coinSymbol: variable('EXPLORER_COIN_SYMBOL', 'Explorer', text(11), 'COIN', 'Symbol of the coin, as pages and wallets show it.'),
  probePrivate: variable('EXPLORER_PROBE_PRIVATE', 'Explorer', yesOrNo, 'false', 'Whether the RPC addresses that nodes report are also asked where they are in a private network or on this machine. Only for networks of your own: any node\'s operator could have the explorer ask servers behind your firewall.'),
  compilers: variable('EXPLORER_COMPILERS', 'Explorer', directory, undefined, 'JSON file with the Solidity compilers that verify contracts: by version `file` and `sha256`, or the `list.json` of solc-bin. A compiler runs only with the sha256 that is there. By default the installed one alone.'),
  compilerCache: variable('EXPLORER_COMPILER_CACHE', 'Explorer', directory, '~/.coind-explorer/compilers', 'Directory with the files of EXPLORER_COMPILERS.'),
  compilerMirror: variable('EXPLORER_COMPILER_MIRROR', 'Explorer', httpUrl, undefined, 'Where files of EXPLORER_COMPILERS are downloaded from when the directory lacks them, for instance `https://binaries.soliditylang.org/bin/`. By default nowhere.', true),
  compileTimeout: variable('EXPLORER_COMPILE_TIMEOUT', 'Explorer', duration, '60s', 'How long the compiler may take for the sources of one contract.'),
  compileMemoryMib: variable('EXPLORER_COMPILE_MEMORY_MB', 'Explorer', integer(128, 4096, 'MiB'), '1024', 'Memory that the compiler may take for the sources of one contract, in MiB. One compiles at a time.'),
  faucetKeyFile: variable('EXPLORER_FAUCET_KEY_FILE', 'Explorer', text(4096), undefined, 'File with the private key of the account whose coins the faucet grants, on testnet and devnet only: 64 hex digits that no other user can read (mode 0600). It is made if it does not exist; then send coins to its account. By default there is no faucet.'),
  trustedProxies: VARIABLES.trustedProxies,
  logLevel: VARIABLES.logLevel,
  logFormat: VARIABLES.logFormat,
} as const

export type ExplorerSettings = SettingsOf<typeof EXPLORER_VARIABLES>
