import { bytesToHex } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { expect, it } from 'vitest'
import { DEVNET_ACCOUNTS, DEVNET_MNEMONIC } from '../../../src/cli/devnetAccounts.ts'
import { toChecksumAddress } from '../../../src/primitives/address.ts'

it('the devnet accounts are the first ten of the mnemonic', () => {
  const derived = Array.from({ length: 10 }, (_, addressIndex) => {
    const account = mnemonicToAccount(DEVNET_MNEMONIC, { addressIndex })
    return [account.address, bytesToHex(account.getHdKey().privateKey!)]
  })
  expect(DEVNET_ACCOUNTS.map(({ address, privateKey }) => [toChecksumAddress(address), privateKey])).toEqual(derived)
})
