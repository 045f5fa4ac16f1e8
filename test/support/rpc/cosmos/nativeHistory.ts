import { privateKeyToAccount } from 'viem/accounts'
import { GenericAuthorization, MsgGrant } from '../../../../src/modules/authz/types.ts'
import { MsgSend } from '../../../../src/modules/bank/messages.ts'
import { MsgSetWithdrawAddress } from '../../../../src/modules/distribution/messages.ts'
import { BasicAllowance, MsgGrantAllowance } from '../../../../src/modules/feegrant/types.ts'
import { GOV_AUTHORITY } from '../../../../src/modules/gov/authority.ts'
import { MsgExecLegacyContent, MsgSubmitProposal, MsgVote } from '../../../../src/modules/gov/types.ts'
import { TextProposal } from '../../../../src/modules/gov/typesV1beta1.ts'
import { MsgDelegate, MsgUndelegate } from '../../../../src/modules/staking/messages.ts'
import { toBech32 } from '../../../../src/primitives/address.ts'
import { hexToBytes } from '../../../../src/primitives/bytes.ts'
import { sha256 } from '../../../../src/primitives/hash.ts'
import type { AnyValue } from '../../../../src/primitives/protoSchema.ts'
import { anyOf, signTestTransaction, testAccount } from '../../../native/signTransaction.ts'
import { WALLET, WALLET_KEY } from '../../execution/testChain.ts'
import type { NativeNode } from './nativeNode.ts'

export const HOLDER = toBech32(WALLET)
export const OPERATOR = toBech32(WALLET, 'coinvaloper')
/** of the consensus key of test chains, 32 bytes of 7 */
export const CONSENSUS = toBech32(sha256(new Uint8Array(32).fill(7)).slice(0, 20), 'coinvalcons')
/** got 5 COIN, then nothing of it moves */
export const OTHER = testAccount(1)
/** has neither balance nor nonce */
export const NOBODY = testAccount(2)

export const ONE_COIN = 10n ** 18n
const KEY = hexToBytes(WALLET_KEY)

export const coins = (amount: bigint) => [{ denom: 'acoin', amount }]
export const coin = (amount: bigint) => ({ denom: 'acoin', amount })

export function sendMessage(amount: bigint, to: string = OTHER.bech32): AnyValue {
  return anyOf(MsgSend, { fromAddress: HOLDER, toAddress: to, amount: coins(amount) })
}

/** Signed by the wallet. */
export function signed(sequence: number, messages: readonly AnyValue[], memo = ''): Uint8Array {
  return signTestTransaction({ messages, signers: [{ privateKey: KEY, sequence }], memo })
}

export interface NativeHistory {
  /** block 1: a MsgSend with a memo */
  readonly send: Uint8Array
  /** block 3: an EVM transfer of 7 acoin to OTHER */
  readonly evm: Uint8Array
  /** block 3: a MsgSend of more than there is: it fails */
  readonly failed: Uint8Array
}

/**
 * Blocks in which modules have something to show. 1: a send. 2: delegation, undelegation, withdraw address, a proposal of text with
 * a vote, a grant, an allowance. 3: an EVM transfer, and a send that fails. 4: nothing.
 */
export async function makeHistory({ chain }: NativeNode): Promise<NativeHistory> {
  const send = signed(0, [sendMessage(5n * ONE_COIN)], 'hello')
  await chain.produce([send])

  const text = anyOf(TextProposal, { title: 'T', description: 'D' })
  const content = anyOf(MsgExecLegacyContent, { content: text, authority: GOV_AUTHORITY })
  const initialDeposit = coins(10n * ONE_COIN)
  const messages = [
    anyOf(MsgDelegate, { delegatorAddress: HOLDER, validatorAddress: OPERATOR, amount: coin(3n * ONE_COIN) }),
    anyOf(MsgUndelegate, { delegatorAddress: HOLDER, validatorAddress: OPERATOR, amount: coin(ONE_COIN) }),
    anyOf(MsgSetWithdrawAddress, { delegatorAddress: HOLDER, withdrawAddress: OTHER.bech32 }),
    anyOf(MsgSubmitProposal, { messages: [content], initialDeposit, proposer: HOLDER, title: 'T', summary: 'S' }),
    anyOf(MsgVote, { proposalId: 1n, voter: HOLDER, option: 1 }),
    anyOf(MsgGrant, {
      granter: HOLDER,
      grantee: OTHER.bech32,
      grant: { authorization: anyOf(GenericAuthorization, { msg: MsgSend.typeUrl }), expiration: undefined },
    }),
    anyOf(MsgGrantAllowance, {
      granter: HOLDER,
      grantee: OTHER.bech32,
      allowance: anyOf(BasicAllowance, { spendLimit: coins(9n) }),
    }),
  ]
  await chain.produce([signed(1, messages)])

  const evm = hexToBytes(
    await privateKeyToAccount(WALLET_KEY).signTransaction({
      chainId: 76287,
      type: 'eip1559',
      to: `0x${Buffer.from(OTHER.address).toString('hex')}`,
      nonce: 2,
      value: 7n,
      gas: 21_000n,
      maxFeePerGas: 10n ** 10n,
      maxPriorityFeePerGas: 10n ** 9n,
    }),
  )
  const failed = signed(3, [sendMessage(10n ** 30n)])
  await chain.produce([evm, failed])
  await chain.produce()
  return { send, evm, failed }
}
