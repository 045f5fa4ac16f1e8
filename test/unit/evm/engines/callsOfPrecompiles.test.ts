import { describe, expect, it } from 'vitest'
import { assemble } from '../../../../bench/code/assemble.ts'
import type { StatefulPrecompile } from '../../../../src/evm/precompile.ts'
import type { Tracer } from '../../../../src/evm/tracer.ts'
import { applyCall } from '../../../../src/evm/transition.ts'
import { nativeToken } from '../../../../src/modules/bank/precompile/nativeToken.ts'
import { DISTRIBUTION } from '../../../../src/modules/moduleAccounts.ts'
import { selectorOf } from '../../../../src/modules/precompileFunctions/abi/codec.ts'
import { precompileTable } from '../../../../src/precompiles/registry.ts'
import { bytesKey, bytesToHex } from '../../../../src/primitives/bytes.ts'
import { CONTRACT, callOf, contextOn, ENGINES, RICH, stateWith } from '../../../support/evm/evmFixture.ts'

const KNOWN = [nativeToken, precompileTable([]).get(bytesKey(DISTRIBUTION))!] as const
const [TOKEN, MODULE] = KNOWN.map(({ address }) => bytesToHex(address))
const KINDS = ['CALL', 'CALLCODE', 'DELEGATECALL', 'STATICCALL'] as const
/** around the least gas of the token, of its views and of what writes, less a stipend too */
const GAS = [0, 199, 200, 201, 2_799, 2_800, 7_700, 10_000, 24_999, 25_000, 60_000]
/** The function, and the bytes of input from memory, where its selector is followed by zeros. */
const INPUTS = [
  ['decimals()', 4],
  ['decimals()', 3],
  ['balanceOf(address)', 36],
  ['balanceOf(address)', 20],
  ['approve(address,uint256)', 68],
  ['withdraw(uint256)', 36],
  ['deposit()', 4],
  ['nothing()', 4],
] as const

/** Each call with each gas and input, with reads between them of what a call may change; `ending` is the end of the frame. */
function program(to: string, kind: (typeof KINDS)[number], value: number, ending: string): Uint8Array {
  const hasValue = kind === 'CALL' || kind === 'CALLCODE'
  const calls = INPUTS.flatMap(([signature, length]) => [
    `0x${Buffer.from(selectorOf(signature)).toString('hex')}${'00'.repeat(28)} 0 MSTORE`,
    ...GAS.map((gas) => `32 96 ${length} 0 ${hasValue ? value : ''} ${to} ${gas} ${kind} POP RETURNDATASIZE POP`),
    `SELFBALANCE POP ${to} BALANCE POP 7 SLOAD 1 ADD 7 SSTORE`,
  ])
  return assemble(`${calls.join(' ')} 0 ${ending}`)
}

/** All that a run does and shows. */
async function outcomeOf(
  engine: (typeof ENGINES)[number],
  code: Uint8Array,
  precompiles: readonly StatefulPrecompile[],
) {
  const seen: unknown[] = []
  const note = (name: string) => (what: object) => void seen.push({ name, ...what })
  const tracer: Tracer = {
    onEnter: note('enter'),
    onExit: note('exit'),
    onLog: note('log'),
    onOpcode: ({ pc, gas, gasCost, depth, refund, error, stack }) =>
      void seen.push({ pc, gas, gasCost, depth, refund, error, stack: [...stack] }),
    onAccess: (account, slot) => void seen.push({ account, slot }),
  }
  const state = stateWith(bytesToHex(code))
  state.setAccount(CONTRACT, { nonce: 1n, code, balance: RICH })
  const context = contextOn(state, { engine, precompiles })
  const traced = await applyCall({ ...context, tracer, call: callOf({ gasLimit: 16_000_000n }) })
  const changes = context.world.changes()
  const plain = contextOn(state, { engine, precompiles })
  expect(await applyCall({ ...plain, call: callOf({ gasLimit: 16_000_000n }) })).toEqual(traced)
  expect(plain.world.changes()).toEqual(changes)
  return { seen, traced, changes }
}

describe.each([TOKEN, MODULE])('what the precompile at %s says of all calls', (to) => {
  it.each(
    KINDS.flatMap((kind) => [0, 1].flatMap((value) => ['STOP', '0 REVERT'].map((end) => [kind, value, end] as const))),
  )('changes nothing of a %s with the value %i in a frame that ends with %s', async (kind, value, ending) => {
    const code = program(to!, kind, value, ending)
    const bare = KNOWN.map(({ address, run }): StatefulPrecompile => ({ address, run: (call) => run(call) }))
    const [fast, reference] = await Promise.all(ENGINES.map((engine) => outcomeOf(engine, code, KNOWN)))
    expect(fast).toEqual(await outcomeOf(ENGINES[0]!, code, bare))
    expect(fast!.traced).toEqual(reference!.traced)
    expect(fast!.changes).toEqual(reference!.changes)
  })
})
