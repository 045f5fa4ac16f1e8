import { describe, expect, it } from 'vitest'
import type { StatefulPrecompile } from '../../../../../src/evm/precompile.ts'
import { applyCall } from '../../../../../src/evm/transition.ts'
import type { Address } from '../../../../../src/primitives/address.ts'
import { bigIntToBytes, bytesToHex, EMPTY_BYTES, equalBytes, hexToBytes } from '../../../../../src/primitives/bytes.ts'
import { CONTRACT, callOf, contextOn, OTHER, stateWith } from '../../../../support/evm/evmFixture.ts'

const NATIVE = bigIntToBytes(0x900n, 20)
/** Slots that CONTRACT sets to their own number, from this one down to 1. */
const SLOTS = 9
const CALLS = 20

const setSlots = `60${hexByte(SLOTS)}5b808055600190038060025750`
const call = (to: Address) => `5f5f5f5f5f73${bytesToHex(to).slice(2)}61fffff150`
const log = '5f5fa0'
const revert = '5f5ffd'
/** Init code that reverts: MSTORE, CREATE, POP. */
const failedCreation = '625f5ffd5f526003601d5ff050'

function hexByte(value: number): string {
  return value.toString(16).padStart(2, '0')
}

/** Runs CONTRACT, which sets its slots and then runs `body` many times, and calls OTHER, which has the code `child`. */
async function storesOf(body: string, child = '', ending = '00') {
  const state = stateWith(`0x${setSlots}${body.repeat(CALLS)}${ending}`)
  if (child !== '') state.setAccount(OTHER, { nonce: 1n, code: hexToBytes(`0x${child}`) })
  state.setAccount(NATIVE, { nonce: 1n, code: hexToBytes('0x00') })
  let seen = 0
  const failing: StatefulPrecompile = {
    address: NATIVE,
    run: ({ world, gasLimit }) => {
      const slots = Array.from({ length: SLOTS }, (_, index) => bigIntToBytes(BigInt(index + 1), 32))
      if (slots.every((slot) => equalBytes(world.getStorage(CONTRACT, slot), slot.subarray(31)))) seen++
      return { status: 'failure', output: EMPTY_BYTES, gasUsed: gasLimit, failure: 'no' }
    },
  }
  const context = contextOn(state, { precompiles: [failing] })
  let stores = 0
  const { setStorage } = context.world
  context.world.setStorage = (address, slot, value) => {
    stores++
    setStorage.call(context.world, address, slot, value)
  }
  const outcome = await applyCall({ ...context, call: callOf({ gasLimit: 16_000_000n }) })
  return { outcome, stores, seen, changes: context.world.changes().accounts.flatMap(({ slots }) => slots) }
}

describe('slots that are dirty while frames fail', () => {
  it.each<[string, string, string, number]>([
    ['precompiles', call(NATIVE), '', CALLS],
    ['frames that call precompiles', call(OTHER), `${call(NATIVE)}${revert}`, CALLS],
    ['frames that log before they call precompiles', call(OTHER), `${log}${call(NATIVE)}${revert}`, CALLS],
    ['creations', failedCreation, '', 0],
    ['frames that create', call(OTHER), `${failedCreation}${revert}`, 0],
  ])('go to the world once: %s', async (_name, body, child, precompileCalls) => {
    const { outcome, stores, seen, changes } = await storesOf(body, child)
    expect(outcome).toMatchObject({ status: 'success' })
    expect(seen).toBe(precompileCalls)
    expect(stores).toBe(SLOTS)
    expect(changes).toHaveLength(SLOTS)
  })

  it('go with the frame that made them dirty', async () => {
    const { outcome, stores, seen, changes } = await storesOf(call(NATIVE), '', revert)
    expect(outcome).toMatchObject({ status: 'revert' })
    expect({ stores, seen, changes }).toEqual({ stores: SLOTS, seen: CALLS, changes: [] })
  })

  it.each([
    ['writes to the world', log],
    ['does not', ''],
  ])(
    'keep the value of the frame that goes on when one that overwrites them fails, and it %s',
    async (_name, first) => {
      // CONTRACT calls itself: with input it overwrites slot 1 and reverts
      const overwrite = `5f600155${first}600160015560015f55${first}${revert}`
      const callItself = '5f5f60015f5f305af150'
      const main = `60056001556006600155${callItself}600154600255`
      const target = hexByte(4 + main.length / 2 + 1)
      const state = stateWith(`0x3660${target}57${main}005b${overwrite}`)
      const context = contextOn(state)
      expect(await applyCall({ ...context, call: callOf() })).toMatchObject({ status: 'success' })
      const slots = context.world.changes().accounts.flatMap((account) => account.slots)
      expect(slots.map(({ slot, current }) => [slot[31], ...current])).toEqual([
        [1, 6],
        [2, 6],
      ])
    },
  )

  it('go again when they become dirty again', async () => {
    const again = '60056001556001600155'
    const { outcome, stores, seen, changes } = await storesOf(`${call(NATIVE)}${again}`)
    expect(outcome).toMatchObject({ status: 'success' })
    expect(seen).toBe(CALLS)
    expect(stores).toBe(SLOTS + CALLS)
    expect(changes).toHaveLength(SLOTS)
  })
})
