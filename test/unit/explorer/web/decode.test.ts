import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { type Abi, encodeErrorResult, encodeEventTopics, encodeFunctionData, pad, parseAbi, toHex } from 'viem'
import { describe, expect, it } from 'vitest'
import { decodeError, decodeInput, decodeLog } from '../../../../explorer/web/src/abi/decode.ts'
import { PRECOMPILE_ABIS, precompileAbis } from '../../../../scripts/precompileAbis.ts'
import { bytesToHex } from '../../../../src/primitives/bytes.ts'
import { runs } from '../../../propertyRuns.ts'

const [A, B, TOKEN] = [1, 2, 3].map((number) => pad(toHex(number), { size: 20 })) as [
  `0x${string}`,
  `0x${string}`,
  `0x${string}`,
]
const STAKING = '0x0000000000000000000000000000000000000800'
const shown = (decoded: ReturnType<typeof decodeInput>) =>
  decoded && [decoded.name, ...decoded.fields.map(({ name, value }) => `${name} ${value}`)]

it('explorer/web/src/abi/precompiles.json is what scripts/precompileAbis.ts makes', () => {
  expect(readFileSync(PRECOMPILE_ABIS, 'utf8')).toBe(precompileAbis())
})

describe('calls, logs and errors by their names', () => {
  it('are those of precompiles at their addresses alone', () => {
    const abi = JSON.parse(precompileAbis())[STAKING] as Abi
    const data = encodeFunctionData({ abi, functionName: 'delegate', args: [A, 'coinvaloper1x', 5n] })
    expect(shown(decodeInput(data, STAKING))).toEqual([
      'delegate',
      `delegatorAddress ${A}`,
      'validatorAddress coinvaloper1x',
      'amount 5',
    ])
    expect(decodeInput(data, TOKEN)).toBeUndefined()
  })

  it('are those of tokens anywhere, by what is indexed', () => {
    const erc20 = parseAbi([
      'function transfer(address to, uint256 value)',
      'event Transfer(address indexed from, address indexed to, uint256 value)',
    ])
    const input = encodeFunctionData({ abi: erc20, functionName: 'transfer', args: [B, 7n] })
    expect(shown(decodeInput(input, TOKEN))).toEqual(['transfer', `to ${B}`, 'value 7'])
    const topics = encodeEventTopics({ abi: erc20, eventName: 'Transfer', args: { from: A, to: B } }) as string[]
    const word = pad(toHex(9), { size: 32 })
    expect(shown(decodeLog({ address: TOKEN, topics, data: word }))).toEqual([
      'Transfer',
      `from ${A}`,
      `to ${B}`,
      'value 9',
    ])
    expect(shown(decodeLog({ address: TOKEN, topics: [...topics, word], data: '0x' }))).toEqual([
      'Transfer',
      `from ${A}`,
      `to ${B}`,
      'tokenId 9',
    ])
  })

  it('are those of its own ABI first', () => {
    const own = parseAbi(['function transfer(address whom, uint256 much)', 'error Refused(uint256 code)'])
    const input = encodeFunctionData({ abi: own, functionName: 'transfer', args: [B, 7n] })
    expect(shown(decodeInput(input, TOKEN, own))).toEqual(['transfer', `whom ${B}`, 'much 7'])
    const output = encodeErrorResult({ abi: own, errorName: 'Refused', args: [3n] })
    expect(shown(decodeError(output, TOKEN, own))).toEqual(['Refused', 'code 3'])
    expect(decodeError(output, TOKEN)).toBeUndefined()
    const text = encodeErrorResult({ abi: parseAbi(['error Error(string)']), errorName: 'Error', args: ['<b>no</b>'] })
    expect(shown(decodeError(text, null))).toEqual(['Error', 'message <b>no</b>'])
  })

  it('are none for anything else', () => {
    const bytes = fc.uint8Array({ maxLength: 200 }).map(bytesToHex)
    const topics = fc.array(fc.uint8Array({ minLength: 32, maxLength: 32 }).map(bytesToHex), { maxLength: 4 })
    fc.assert(
      fc.property(bytes, topics, fc.constantFrom(STAKING, TOKEN), (data, own, address) => {
        expect(decodeInput(data, address)).toBeUndefined()
        expect(decodeError(data, address)).toBeUndefined()
        expect(decodeLog({ address, topics: own, data })).toBeUndefined()
      }),
      { numRuns: runs(50) },
    )
  })
})
