import { writeFileSync } from 'node:fs'
import { createGenesis } from '../src/chain/genesis/createGenesis.ts'
import { formatGenesis } from '../src/chain/genesis/genesis.ts'
import { ACOIN_PER_COIN } from '../src/chain/genesis/genesisConstants.ts'
import { parseAddress } from '../src/primitives/address.ts'
import { sha256 } from '../src/primitives/hash.ts'

/**
 * Returns the text of genesis.example.json: a testnet genesis as `coind init` writes it. Its consensus key is 32 bytes
 * without a known private key, so that no one runs a chain from this file by accident.
 */
export function exampleGenesis(): string {
  return formatGenesis(
    createGenesis({
      genesisTimeMs: Date.UTC(2026, 0, 1),
      chainId: 'coin_76287-1',
      wallet: parseAddress('0x00000000000000000000000000000000c0ffee00'),
      selfDelegationAcoin: 1_000_000n * ACOIN_PER_COIN,
      consensusPublicKey: sha256(new TextEncoder().encode('coind example genesis')),
      moniker: 'example',
    }),
  )
}

if (import.meta.main) writeFileSync(new URL('../genesis.example.json', import.meta.url), exampleGenesis())
