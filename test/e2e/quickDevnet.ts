import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { formatGenesis } from '../../src/chain/genesis/genesis.ts'
import { DEVNET_ACCOUNTS, DEVNET_BALANCE_ACOIN } from '../../src/cli/devnetAccounts.ts'
import { loadConfig } from '../../src/config/config.ts'
import { createValidatorKey } from '../../src/consensus/validatorKey.ts'
import { dataPaths } from '../../src/datadir/dataDirectory.ts'
import { initNode } from '../../src/datadir/initNode.ts'
import { toChecksumAddress } from '../../src/primitives/address.ts'
import { type NodeOptions, startNode, type TestNode } from './startNode.ts'

/** Milliseconds; a devnet has 400. */
const BLOCK_INTERVAL_MS = 200

/**
 * A devnet with blocks twice as fast, for tests of clients, which wait for blocks for most of their time. It is what `coind devnet` would
 * have made but for that: the command finds the directory as if it had made it before.
 */
export async function startQuickDevnet(options: Pick<NodeOptions, 'environment'> = {}): Promise<TestNode> {
  const homedir = mkdtempSync(join(tmpdir(), 'coind-quick-'))
  const wallet = toChecksumAddress(DEVNET_ACCOUNTS[0]!.address)
  const flags = { NETWORK: 'devnet', MONIKER: 'devnet', HOMEDIR: homedir, GENESIS_WALLET: wallet }
  const config = loadConfig({ flags, environment: {}, dotenv: {} }, homedir)
  const paths = dataPaths(homedir)
  mkdirSync(paths.config, { mode: 0o700 })
  const { genesis } = initNode(
    config,
    paths,
    {
      load: () => undefined,
      create: () => createValidatorKey(paths.validatorKey, new Uint8Array(randomBytes(32))).publicKey,
    },
    {
      nowMs: Date.now(),
      fundedAccounts: DEVNET_ACCOUNTS.slice(1).map(({ address }) => ({ address, balanceAcoin: DEVNET_BALANCE_ACOIN })),
    },
  )
  const quick = structuredClone(genesis)
  quick.app_state.timing.params.block_interval_ms = String(BLOCK_INTERVAL_MS)
  writeFileSync(paths.genesis, formatGenesis(quick))
  // What tells the command that the directory is its own.
  writeFileSync(join(homedir, 'devnet.json'), '{}\n')
  const node = await startNode({ ...options, homedir })
  return {
    ...node,
    stop: async () => {
      await node.stop()
      rmSync(homedir, { recursive: true, force: true })
    },
  }
}
