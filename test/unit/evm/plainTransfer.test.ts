import { describe, expect, it } from 'vitest'
import type { Hardfork } from '../../../src/chain/genesis/hardfork.ts'
import { codeDelegation } from '../../../src/evm/authorization.ts'
import type { Engine } from '../../../src/evm/engine.ts'
import type { StatefulPrecompile } from '../../../src/evm/precompile.ts'
import { applyCall, type CallMessage, type TransitionContext } from '../../../src/evm/transition.ts'
import type { Address } from '../../../src/primitives/address.ts'
import { EMPTY_BYTES, hexToBytes } from '../../../src/primitives/bytes.ts'
import type { Journal } from '../../../src/state/journal.ts'
import { COINBASE, CONTRACT, callOf, contextOn, OTHER, RICH, SENDER, stateWith } from '../../support/evm/evmFixture.ts'
import type { MemoryStateReader } from '../../support/state/memoryReader.ts'

const ABSENT = hexToBytes('0x5555555555555555555555555555555555555555')
const FULL = hexToBytes('0x6666666666666666666666666666666666666666')
const DELEGATED = hexToBytes('0x7777777777777777777777777777777777777777')
const STATEFUL = hexToBytes('0x0000000000000000000000000000000000000400')
const IDENTITY = hexToBytes('0x0000000000000000000000000000000000000004')

const stateful: StatefulPrecompile = {
  address: STATEFUL,
  run: ({ data }) => ({ status: 'success', output: data, gasUsed: 7n }),
}

function state(): MemoryStateReader {
  // PUSH1 1 PUSH1 0 SSTORE
  const state = stateWith('0x6001600055')
  state.setAccount(OTHER, { balance: 5n })
  state.setAccount(FULL, { balance: 2n ** 256n - 1n })
  state.setAccount(DELEGATED, { nonce: 1n, code: codeDelegation(CONTRACT) })
  return state
}

async function run(
  call: Partial<CallMessage>,
  options: { readonly fork: Hardfork } & Partial<Pick<TransitionContext, 'tracer' | 'engine'>>,
): Promise<readonly [unknown, ReturnType<Journal['changes']>]> {
  const { engine, ...rest } = options
  const context = contextOn(state(), { precompiles: [stateful], ...rest })
  const outcome = await applyCall({ ...context, ...(engine === undefined ? {} : { engine }), call: callOf(call) })
  return [outcome, context.world.changes()]
}

const RECIPIENTS: readonly (readonly [string, Address])[] = [
  ['an account', OTHER],
  ['an absent account', ABSENT],
  ['the sender', SENDER],
  ['the coinbase', COINBASE],
  ['an account whose balance is full', FULL],
  ['a contract', CONTRACT],
  ['a delegation', DELEGATED],
  ['a standard precompile', IDENTITY],
  ['a stateful precompile', STATEFUL],
]

describe.each<Hardfork>(['frontier', 'spuriousDragon', 'cancun', 'osaka'])('transfers under %s', (fork) => {
  // A tracer wants to be told by the engine, so that no traced transaction takes the short way.
  it.each(RECIPIENTS)('to %s are what the engine makes of them', async (_, to) => {
    for (const value of [0n, 1n, RICH - 10n ** 8n, RICH + 1n]) {
      for (const data of [EMPTY_BYTES, Uint8Array.of(0, 1, 2)]) {
        const gas =
          fork === 'frontier' || fork === 'spuriousDragon' ? {} : { maxFeePerGas: 20n, maxPriorityFeePerGas: 1n }
        const call = { to, value, data, ...gas }
        expect(await run(call, { fork })).toEqual(await run(call, { fork, tracer: {} }))
      }
    }
  })
})

describe('the engine', () => {
  const unused: Engine = {
    name: 'reference',
    run: () => Promise.reject(new Error('the engine was asked')),
  }

  it.each(RECIPIENTS.slice(0, 4))('is not asked for a transfer to %s', async (_, to) => {
    const [outcome] = await run({ to, value: 3n }, { fork: 'osaka', engine: unused })
    expect(outcome).toMatchObject({ kind: 'applied', status: 'success', gasUsed: 21_000n, logs: [] })
  })

  it.each(RECIPIENTS.slice(4))('is asked for a transfer to %s', async (_, to) => {
    await expect(run({ to, value: 3n }, { fork: 'osaka', engine: unused })).rejects.toThrow('the engine was asked')
  })
})
