import { bech32 as reference } from 'bech32'
import { getAddress, type Hex, hexToBytes, zeroAddress } from 'viem'
import { describe, expect, it } from 'vitest'
import { BECH32_GAS } from '../../../src/precompiles/bech32.ts'
import { ADDRESSES, ALICE, accountOf, NativeChain } from '../../support/precompiles/nativeChain.ts'

const chain = new NativeChain()
const toBech32 = (account: Hex, prefix: string) => chain.read('bech32', 'hexToBech32', [account, prefix])
const toHex = (text: string) => chain.read('bech32', 'bech32ToHex', [text])

describe('hexToBech32 and bech32ToHex', () => {
  it.each(['coin', 'coinvaloper', 'coinvalcons', 'cosmos', 'a', '1', 'with1one', '~'.repeat(51)])(
    'are inverse for the prefix %s',
    async (prefix) => {
      for (const account of [ALICE, zeroAddress, '0xffffffffffffffffffffffffffffffffffffffff'] as const) {
        const { result } = await toBech32(account, prefix)
        expect(result).toBe(reference.encode(prefix, reference.toWords(hexToBytes(account))))
        expect((await toHex(result as string)).result).toBe(getAddress(account))
      }
    },
  )

  it('take a prefix and a text in capitals, as BIP-173 does', async () => {
    expect((await toBech32(ALICE, 'COIN')).result).toBe(accountOf(ALICE))
    expect((await toHex(accountOf(ALICE).toUpperCase())).result).toBe(getAddress(ALICE))
  })

  it.each(['', ' ', '\t\n '])('refuse the empty prefix %j with the text of the reference', async (prefix) => {
    expect((await toBech32(ALICE, prefix)).reason).toBe(
      'invalid bech32 human readable prefix (HRP). Please provide a either an account, validator or consensus address prefix (eg: coin, coinvaloper, coinvalcons)',
    )
  })

  it.each(['co in', 'cöin', 'a'.repeat(52), '\u0000', 'a'.repeat(100_000)])('refuse the prefix %#', async (prefix) => {
    expect((await toBech32(ALICE, prefix)).reason).toBe('invalid bech32 human readable prefix (HRP)')
  })

  const good = accountOf(ALICE)
  const last = good.at(-1) === 'q' ? 'p' : 'q'
  it.each([
    '',
    'coin',
    '1',
    ALICE,
    good.slice(0, -1),
    good.slice(0, -1) + last,
    `C${good.slice(1)}`,
    `${good} `,
    // the Kelvin sign is a k in small letters
    reference
      .encode('kelvin', reference.toWords(hexToBytes(ALICE)))
      .toUpperCase()
      .replace('K', '\u212a'),
    reference.encode('coin', reference.toWords(new Uint8Array(19))),
    reference.encode('coin', reference.toWords(new Uint8Array(21))),
    reference.encode('coin', reference.toWords(new Uint8Array(32)), 100),
    'x'.repeat(50_000),
  ])('refuse the text %#', async (text) => {
    expect((await toHex(text)).reason).toBe(`invalid bech32 address: ${text}`)
  })

  it('cost the same whatever they answer, and change nothing', async () => {
    const run = async (gas: bigint) =>
      (await chain.send(ALICE, 'bech32', 'hexToBech32', [ALICE, 'coin'], { gas })).applied
    const { gasUsed, status } = await run(100_000n)
    expect(status).toBe('success')
    expect(gasUsed).toBeGreaterThan(21_000n + BECH32_GAS)
    expect((await run(gasUsed)).status).toBe('success')
    expect((await run(gasUsed - 1n)).status).toBe('failure')
  })

  it('answer unknown functions with the selector, less than one with nothing', async () => {
    const unknown = await chain.run({ from: ALICE, to: ADDRESSES.bech32, data: '0xdeadbeef01' }, false)
    expect([unknown.status, Buffer.from(unknown.output).toString('latin1')]).toEqual([
      'revert',
      expect.stringContaining('no method with id: 0xdeadbeef'),
    ])
    // 21,000, five bytes, and 500 for the text.
    expect(unknown.gasUsed).toBe(21_580n)
    for (const data of ['0x', '0xf958a9'] as const) {
      const short = await chain.run({ from: ALICE, to: ADDRESSES.bech32, data }, false)
      expect([short.status, short.output.length]).toEqual(['revert', 0])
    }
  })
})
