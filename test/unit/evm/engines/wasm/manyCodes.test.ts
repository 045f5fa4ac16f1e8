import { expect, it } from 'vitest'
import { applyCall } from '../../../../../src/evm/transition.ts'
import { bigIntToBytes, hexToBytes } from '../../../../../src/primitives/bytes.ts'
import { CONTRACT, callOf, contextOn, stateWith } from '../../../../support/evm/evmFixture.ts'

/** More, with the tables of their jumps, than an instance keeps between runs, and more than can have tables of their blocks. */
const CODES = 1_050
const CODE_BYTES = 24_576
const FIRST = 0x1_0000n

/** Calls FIRST + CODES down to FIRST + 1, twice. */
const callAll =
  '61041a5b5f5f5f5f5f8562010000015af15060019003806003575061041a5b5f5f5f5f5f8562010000015af1506001900380601e575000'

it('takes up a code once in a run, however many there are', async () => {
  const state = stateWith(`0x${callAll}`)
  for (let n = 1; n <= CODES; n++) {
    const code = new Uint8Array(CODE_BYTES)
    // 40 jumps, so that it would get a table of its blocks, and a number that makes it a code of its own
    code.set(hexToBytes('0x60285b600190038060025700'))
    code.set(bigIntToBytes(BigInt(n), 4), 16)
    state.setAccount(bigIntToBytes(FIRST + BigInt(n), 20), { nonce: 1n, code })
  }
  const context = contextOn(state)
  let reads = 0
  const { getCode } = context.world
  context.world.getCode = (address) => {
    reads++
    return getCode.call(context.world, address)
  }
  const outcome = await applyCall({ ...context, call: callOf({ gasLimit: 16_000_000n }) })
  expect(outcome).toMatchObject({ status: 'success' })
  // of CONTRACT: whether it is a delegation, and the code
  expect(reads).toBeLessThanOrEqual(CODES + 3)
  expect(reads).toBeGreaterThan(CODES)
  expect(context.world.getCode(CONTRACT)).toHaveLength(callAll.length / 2)
})
