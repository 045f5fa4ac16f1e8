import { describe, expect, it } from 'vitest'
import { PREINSTALLS } from '../../../src/chain/genesis/createGenesis.ts'
import { applyBlockStart, BEACON_ROOTS, HISTORY_STORAGE } from '../../../src/evm/systemCalls.ts'
import { applyCall } from '../../../src/evm/transition.ts'
import { bigIntToBytes, hexToBytes } from '../../../src/primitives/bytes.ts'
import { BLOCK, contextOn, SENDER, stateWith } from '../../support/evm/evmFixture.ts'
import { MemoryStateReader } from '../../support/state/memoryReader.ts'

const parentHash = new Uint8Array(32).fill(0xaa)
const parentBeaconBlockRoot = new Uint8Array(32).fill(0xbb)

function stateWithSystemContracts(): MemoryStateReader {
  const state = stateWith()
  for (const { address, code } of PREINSTALLS) {
    state.setAccount(hexToBytes(address), { nonce: 1n, code: hexToBytes(code) })
  }
  return state
}

describe('applyBlockStart', () => {
  it('stores the beacon root and the parent hash where contracts read them', async () => {
    const context = contextOn(stateWithSystemContracts())
    await applyBlockStart({ ...context, parentHash, parentBeaconBlockRoot })
    const read = async (to: Uint8Array, key: bigint) => {
      const call = { sender: SENDER, to, data: bigIntToBytes(key, 32), gasLimit: 1_000_000n }
      const outcome = await applyCall({ ...context, call })
      return outcome.kind === 'applied' ? outcome.output : outcome.reason
    }
    expect(await read(BEACON_ROOTS, BigInt(BLOCK.timestamp))).toEqual(parentBeaconBlockRoot)
    const next = contextOn(stateWith(), { block: { ...BLOCK, number: BLOCK.number + 1 } })
    const call = { sender: SENDER, to: HISTORY_STORAGE, data: bigIntToBytes(99n, 32), gasLimit: 1_000_000n }
    const outcome = await applyCall({ ...next, world: context.world, call })
    expect(outcome).toMatchObject({ kind: 'applied', output: parentHash })
  })

  it('changes nothing but the two storages', async () => {
    const context = contextOn(stateWithSystemContracts())
    await applyBlockStart({ ...context, parentHash, parentBeaconBlockRoot })
    const { accounts } = context.world.changes()
    expect(accounts.map(({ address, previous, current }) => [address, previous === current])).toEqual([
      [HISTORY_STORAGE, true],
      [BEACON_ROOTS, true],
    ])
    expect(accounts.map(({ slots }) => slots.length)).toEqual([1, 2])
  })

  it('keeps the parent hash from Prague on only', async () => {
    const context = contextOn(stateWithSystemContracts(), { fork: 'cancun' })
    await applyBlockStart({ ...context, parentHash, parentBeaconBlockRoot })
    expect(context.world.changes().accounts.map(({ address }) => address)).toEqual([BEACON_ROOTS])
  })

  it('does nothing where the contracts are absent', async () => {
    const context = contextOn(new MemoryStateReader())
    await applyBlockStart({ ...context, parentHash, parentBeaconBlockRoot })
    expect(context.world.changes()).toEqual({ accounts: [], codes: [], native: [] })
  })
})
