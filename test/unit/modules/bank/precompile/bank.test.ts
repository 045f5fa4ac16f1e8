import { getAddress } from 'viem'
import { describe, expect, it } from 'vitest'
import { getSupply } from '../../../../../src/modules/bank/ledger.ts'
import { BANK_GAS } from '../../../../../src/modules/bank/precompile/bank.ts'
import { NATIVE_TOKEN_ADDRESS } from '../../../../../src/modules/bank/precompile/nativeToken.ts'
import { sendCoins } from '../../../../../src/modules/bank/send.ts'
import { bytesToHex, hexToBytes } from '../../../../../src/primitives/bytes.ts'
import { ALICE, BOB, COIN, FUNDS, NativeChain } from '../../../../support/precompiles/nativeChain.ts'

const TOKEN = getAddress(bytesToHex(NATIVE_TOKEN_ADDRESS))
const NOBODY = '0x0b0d000000000000000000000000000000000000'

describe('the bank precompile', () => {
  it('answers balances and supply as of now, by the native token', async () => {
    const chain = new NativeChain()
    const answer = async (name: string, ...args: unknown[]) => (await chain.read('bank', name, args)).result
    const supply = getSupply(chain.context.world)
    expect(await answer('balances', ALICE)).toEqual([{ contractAddress: TOKEN, amount: FUNDS }])
    expect(await answer('balances', NOBODY)).toEqual([])
    expect(await answer('totalSupply')).toEqual([{ contractAddress: TOKEN, amount: supply }])
    expect(await answer('supplyOf', TOKEN)).toBe(supply)
    expect(await answer('supplyOf', NOBODY)).toBe(0n)
    chain.native((context) => sendCoins(context, hexToBytes(ALICE), hexToBytes(NOBODY), COIN))
    expect(await answer('balances', NOBODY)).toEqual([{ contractAddress: TOKEN, amount: COIN }])
    await chain.run({ from: ALICE, to: BOB, value: COIN })
    expect(await answer('balances', BOB)).toEqual([{ contractAddress: TOKEN, amount: FUNDS + COIN }])
  })

  it('costs what the reference takes for one item, and takes no value', async () => {
    const chain = new NativeChain()
    const plain = (await chain.send(ALICE, 'bank', 'supplyOf', [TOKEN])).applied.gasUsed
    const balances = (await chain.send(ALICE, 'bank', 'balances', [TOKEN])).applied.gasUsed
    expect(balances - plain).toBe(BANK_GAS.balances - BANK_GAS.supplyOf)
    const paid = await chain.send(ALICE, 'bank', 'balances', [ALICE], { value: 1n })
    expect([paid.status, paid.reason]).toEqual(['revert', ''])
  })
})
