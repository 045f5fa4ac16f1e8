import { setTimeout as sleep } from 'node:timers/promises'
import type { EncodeObject } from '@cosmjs/proto-signing'
import { GenericAuthorization } from 'cosmjs-types/cosmos/authz/v1beta1/authz'
import { BasicAllowance } from 'cosmjs-types/cosmos/feegrant/v1beta1/feegrant'
import { MsgSubmitProposal } from 'cosmjs-types/cosmos/gov/v1/tx'
import { MsgUnjail } from 'cosmjs-types/cosmos/slashing/v1beta1/tx'
import type { Hex } from 'viem'
import { BECH32_OPERATOR, toBech32 } from '../../src/primitives/address.ts'
import { hexToBytes } from '../../src/primitives/bytes.ts'
import { ACCOUNTS, COIN, freshAddress, KEYS } from '../e2e/devChain.ts'
import { createSilentValidator } from '../e2e/explorer/staking.ts'
import { type CosmosAccount, connectCosmJs, getJson } from '../e2e/native/nativeChain.ts'
import type { Random } from './evmTraffic.ts'

/* Random native transactions of every message that an account can send, from the devnet's accounts. */

/** Makes a validator that signs nothing, is jailed and slashed for it, and comes back. */
const SILENT = 6
const SILENT_OPERATOR = toBech32(hexToBytes(ACCOUNTS[SILENT]!.address), BECH32_OPERATOR)
/** Devnet accounts that send; the first one pays the accounts of EVM traffic. */
const SENDERS = [1, 2, 3, 4, 5, SILENT, 7, 8]
const FEE = { amount: [{ denom: 'acoin', amount: String(COIN / 100n) }], gas: '900000' }
const RETRY_MS = 300

const acoin = (amount: bigint) => ({ denom: 'acoin', amount: amount.toString() })

export interface NativeTraffic {
  /** how many transactions were in blocks, and how many of them did what they should, by their first message */
  readonly counts: ReadonlyMap<string, { sent: number; succeeded: number }>
  /** Sends until the signal. */
  run(stop: AbortSignal): Promise<void>
}

/** @param url of the node now: it may be killed and started again */
export async function createNativeTraffic(url: () => string, random: Random): Promise<NativeTraffic> {
  const counts = new Map<string, { sent: number; succeeded: number }>()
  const addresses = SENDERS.map((index) => toBech32(hexToBytes(ACCOUNTS[index]!.address)))
  const { client, address } = await connectCosmJs({ url: url() }, KEYS[SILENT]!)
  const made = await client.signAndBroadcast(address, [createSilentValidator('silent', ACCOUNTS[SILENT]!.address)], FEE)
  if (made.code !== 0) throw new Error(`the silent validator was not made: ${made.rawLog}`)
  client.disconnect()
  const { validators } = await getJson({ url: url() }, '/cosmos/staking/v1beta1/validators')
  const operators = (validators as { operator_address: string }[]).map((validator) => validator.operator_address)
  const pick = <T>(list: readonly T[]): T => list[random(list.length)]!

  const send = async (index: number, stop: AbortSignal): Promise<void> => {
    let account: CosmosAccount | undefined
    while (!stop.aborted) {
      const message = randomMessage(addresses[index]!, SENDERS[index] === SILENT)
      try {
        if (account === undefined) {
          account = await connectCosmJs({ url: url() }, KEYS[SENDERS[index]!]!)
          // One that CosmJS does not know by itself.
          account.client.registry.register(MsgUnjail.typeUrl, MsgUnjail)
        }
        const { code, height } = await account.client.signAndBroadcast(account.address, [message], FEE, 'proof')
        if (code === 0) learn(message, height)
        const count = counts.get(message.typeUrl) ?? { sent: 0, succeeded: 0 }
        count.sent++
        if (code === 0) count.succeeded++
        counts.set(message.typeUrl, count)
      } catch {
        // Refused before it was in a block, or the node was killed just now.
        account?.client.disconnect()
        account = undefined
        await sleep(RETRY_MS)
      }
    }
    account?.client.disconnect()
  }

  /** what later messages are about */
  let proposals = 0
  const unbondings = new Map<string, { readonly validatorAddress: string; readonly creationHeight: bigint }>()
  const learn = ({ typeUrl, value }: EncodeObject, height: number): void => {
    if (typeUrl === MsgSubmitProposal.typeUrl) proposals++
    if (typeUrl !== '/cosmos.staking.v1beta1.MsgUndelegate') return
    unbondings.set(value.delegatorAddress, { validatorAddress: value.validatorAddress, creationHeight: BigInt(height) })
  }

  const randomMessage = (me: string, isOperator: boolean): EncodeObject => {
    const other = pick(addresses)
    const amount = [acoin(BigInt(1 + random(10_000)))]
    const someProposal = BigInt(Math.max(1, proposals - random(4)))
    const stake = {
      delegatorAddress: me,
      validatorAddress: pick(operators),
      amount: acoin(COIN + BigInt(random(1_000))),
    }
    const inMs = BigInt(Math.floor(Date.now() / 1000) + 3_600)
    const own: readonly (() => EncodeObject)[] = [
      () =>
        message('/cosmos.bank.v1beta1.MsgSend', { fromAddress: me, toAddress: random(2) ? other : fresh(), amount }),
      () =>
        message('/cosmos.bank.v1beta1.MsgMultiSend', {
          inputs: [{ address: me, coins: [acoin(10n)] }],
          outputs: [
            { address: other, coins: [acoin(4n)] },
            { address: fresh(), coins: [acoin(6n)] },
          ],
        }),
      () => message('/cosmos.staking.v1beta1.MsgDelegate', stake),
      () => message('/cosmos.staking.v1beta1.MsgUndelegate', { ...stake, amount: acoin(COIN / 2n) }),
      () =>
        message('/cosmos.staking.v1beta1.MsgBeginRedelegate', {
          delegatorAddress: me,
          validatorSrcAddress: stake.validatorAddress,
          validatorDstAddress: pick(operators),
          amount: acoin(COIN / 3n),
        }),
      () =>
        message('/cosmos.staking.v1beta1.MsgCancelUnbondingDelegation', {
          ...stake,
          creationHeight: 1n,
          ...unbondings.get(me),
          amount: acoin(COIN / 4n),
        }),
      () =>
        message('/cosmos.distribution.v1beta1.MsgWithdrawDelegatorReward', {
          delegatorAddress: me,
          validatorAddress: stake.validatorAddress,
        }),
      () =>
        message('/cosmos.distribution.v1beta1.MsgSetWithdrawAddress', {
          delegatorAddress: me,
          withdrawAddress: random(3) ? me : other,
        }),
      () => message('/cosmos.distribution.v1beta1.MsgFundCommunityPool', { amount, depositor: me }),
      () => {
        const value = {
          title: 'Proof',
          summary: 'Of the index',
          metadata: 'proof',
          proposer: me,
          initialDeposit: [acoin(COIN * (random(2) ? 6n : 12n))],
        }
        return { typeUrl: MsgSubmitProposal.typeUrl, value: MsgSubmitProposal.fromPartial(value) }
      },
      () =>
        message('/cosmos.gov.v1.MsgDeposit', { proposalId: someProposal, depositor: me, amount: [acoin(COIN * 4n)] }),
      () =>
        message('/cosmos.gov.v1.MsgVote', { proposalId: someProposal, voter: me, option: 1 + random(4), metadata: '' }),
      () =>
        message('/cosmos.gov.v1.MsgVoteWeighted', {
          proposalId: someProposal,
          voter: me,
          metadata: '',
          options: [
            { option: 1, weight: '0.300000000000000000' },
            { option: 3, weight: '0.700000000000000000' },
          ],
        }),
      () =>
        message('/cosmos.authz.v1beta1.MsgGrant', {
          granter: me,
          grantee: other,
          grant: {
            authorization: {
              typeUrl: GenericAuthorization.typeUrl,
              value: GenericAuthorization.encode({ msg: '/cosmos.bank.v1beta1.MsgSend' }).finish(),
            },
            expiration: { seconds: inMs, nanos: 0 },
          },
        }),
      () =>
        message('/cosmos.authz.v1beta1.MsgRevoke', {
          granter: me,
          grantee: other,
          msgTypeUrl: '/cosmos.bank.v1beta1.MsgSend',
        }),
      () =>
        message('/cosmos.feegrant.v1beta1.MsgGrantAllowance', {
          granter: me,
          grantee: other,
          allowance: {
            typeUrl: BasicAllowance.typeUrl,
            value: BasicAllowance.encode({ spendLimit: [acoin(COIN)] }).finish(),
          },
        }),
      () => message('/cosmos.feegrant.v1beta1.MsgRevokeAllowance', { granter: me, grantee: other }),
    ]
    const ofOperator: readonly (() => EncodeObject)[] = [
      () => message('/cosmos.slashing.v1beta1.MsgUnjail', { validatorAddr: SILENT_OPERATOR }),
      () =>
        message('/cosmos.distribution.v1beta1.MsgWithdrawValidatorCommission', { validatorAddress: SILENT_OPERATOR }),
      () =>
        message('/cosmos.staking.v1beta1.MsgEditValidator', {
          description: {
            moniker: `silent ${random(100)}`,
            identity: '',
            website: '',
            securityContact: '',
            details: '',
          },
          validatorAddress: SILENT_OPERATOR,
          commissionRate: '',
          minSelfDelegation: '',
        }),
    ]
    return isOperator && random(2) === 0 ? pick(ofOperator)() : pick(own)()
  }

  return {
    counts,
    run: async (stop) => {
      await Promise.all(SENDERS.map((_, index) => send(index, stop)))
    },
  }
}

function message(typeUrl: string, value: unknown): EncodeObject {
  return { typeUrl, value }
}

const fresh = (): string => toBech32(hexToBytes(freshAddress() as Hex))
