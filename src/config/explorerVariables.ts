import { host, httpUrl, port, text } from './valueKind.ts'
import { variable } from './variables.ts'

/** The variables of an explorer that `coind devnet` takes too, for the explorer that it starts. */
// biome-ignore format: one variable per line reads as a table
export const SHARED_EXPLORER_VARIABLES = {
  host: variable('EXPLORER_HOST', 'Explorer', host, '0.0.0.0', 'Address that the explorer listens on.'),
  port: variable('EXPLORER_PORT', 'Explorer', port, '8090', 'Port of the explorer, for its pages and its API.'),
  publicRpcUrl: variable('EXPLORER_PUBLIC_RPC_URL', 'Explorer', httpUrl, undefined, 'RPC address that browsers and wallets get. By default the PUBLIC_RPC_URL that the node announces.'),
  chainName: variable('EXPLORER_CHAIN_NAME', 'Explorer', text(50), 'coind', 'Name of the network, as pages and wallets show it.'),
} as const
