import { encodeFunctionData, parseAbi } from 'viem'
import { type Account, sign } from '../../bench/load/sign.ts'
import { AUTHORIZATION_TYPE_NAMES, MsgExec, MsgGrant, StakeAuthorization } from '../../src/modules/authz/types.ts'
import { MsgSubmitProposal } from '../../src/modules/gov/types.ts'
import { moduleAddress, toAddress, toBech32 } from '../../src/primitives/address.ts'
import { hexToBytes } from '../../src/primitives/bytes.ts'
import type { AnyValue } from '../../src/primitives/protoSchema.ts'
import { anyOf } from '../native/signTransaction.ts'
import type { Attack } from './attack.ts'
import { keepBroadcasting, nativeOf, outsider, sendNative, sendOne } from './outsiders.ts'
import { GOV, GOV_ABI, submission, unknownNames } from './parameterProposals.ts'
import { addressOf, deployRepeater, keepRepeating, keepSending, REPEATED_FEES } from './repeatedCall.ts'
import { importChain } from './scenes.ts'

const DISTRIBUTION = '0x0000000000000000000000000000000000000801'
const DISTRIBUTION_ABI = parseAbi(['function delegatorValidators(address delegatorAddress) view returns (string[])'])
const ZERO = '0x0000000000000000000000000000000000000000'
const DEEP_GAS = 3_000_000n
const DEPOSIT_ACOIN = 2n * 10n ** 17n

/** A proposal with so many messages: 480 of them have 64 KB. */
export function proposalOf(proposer: Account, messages: number): AnyValue {
  const message = sendOne(moduleAddress('gov'))
  return anyOf(MsgSubmitProposal, {
    messages: Array.from({ length: messages }, () => message),
    initialDeposit: [{ denom: 'acoin', amount: DEPOSIT_ACOIN }],
    proposer: toBech32(proposer.address),
    title: 't',
    summary: 's',
  })
}

/** What accounts have put into blocks that took longer than the time to build and check them; by the number of the fault. */
export const BLOCK_ATTACKS: readonly Attack[] = [
  {
    name: '1 unknown parameters',
    what: 'full transactions that submit proposals with # unknown parameters, again and again',
    size: 7_000,
    prepare: async (run) => {
      const account = outsider('1')
      const repeater = await deployRepeater(run, account, GOV)
      return () => keepRepeating(run, [account], { repeater, data: submission(repeater, unknownNames(run.size)) })
    },
  },
  {
    name: '4 empty ranges',
    what: 'full transactions of # accounts that read ranges of native entries, again and again',
    size: 1,
    prepare: async (run) => {
      const account = outsider('4')
      const repeater = await deployRepeater(run, account, DISTRIBUTION)
      const args = [repeater as `0x${string}`] as const
      const data = encodeFunctionData({ abi: DISTRIBUTION_ABI, functionName: 'delegatorValidators', args })
      return () => keepRepeating(run, [account], { repeater, data })
    },
  },
  {
    name: '5 views of large proposals',
    what: 'full transactions that read proposals of # messages, again and again',
    size: 480,
    prepare: async (run) => {
      const account = outsider('5')
      for (let proposal = 0; proposal < 3; proposal++) await sendNative(run, account, [proposalOf(account, run.size)])
      const repeater = await deployRepeater(run, account, GOV)
      const page = { key: '0x', offset: 0n, limit: 100n, countTotal: false, reverse: false } as const
      const data = encodeFunctionData({ abi: GOV_ABI, functionName: 'getProposals', args: [0, ZERO, ZERO, page] })
      return () => keepRepeating(run, [account], { repeater, data })
    },
  },
  {
    name: '6 nested executions',
    what: 'native transactions with # messages, nested in executions',
    size: 300,
    prepare: async (run) => {
      const account = outsider('6')
      const grantee = toBech32(account.address)
      const send = sendOne(account.address)
      let nested = anyOf(MsgExec, { grantee, msgs: Array.from({ length: run.size }, () => send) })
      for (let level = 0; level < 4; level++) nested = anyOf(MsgExec, { grantee, msgs: [nested] })
      return () => keepBroadcasting(run, account, (sequence) => nativeOf(account, sequence, [nested], 16_000_000n))
    },
  },
  {
    name: '6 lists of an authorization',
    what: 'grants of staking with # texts that are no addresses, and their use',
    size: 1_000,
    prepare: async (run) => {
      const account = outsider('6b')
      const granter = toBech32(account.address)
      const texts = Array.from({ length: run.size }, (_, index) => `x${index}`)
      const grant = anyOf(MsgGrant, {
        granter,
        grantee: toBech32(outsider('6').address),
        grant: {
          authorization: anyOf(StakeAuthorization, {
            allowList: { address: texts },
            authorizationType: AUTHORIZATION_TYPE_NAMES.AUTHORIZATION_TYPE_DELEGATE,
          }),
          expiration: undefined,
        },
      })
      return () => keepBroadcasting(run, account, (sequence) => nativeOf(account, sequence, [grant], 2_000_000n))
    },
  },
  {
    name: '8 deep texts',
    what: 'transactions that propose JSON of # levels inside a text; another node executes the blocks in its main thread',
    size: 6_500,
    needs: { accepted: 1 },
    prepare: async (run) => {
      const account = outsider('8')
      const value = `${'['.repeat(run.size)}${']'.repeat(run.size)}`
      const data = hexToBytes(submission(addressOf(account), value))
      const to = toAddress(hexToBytes(GOV))
      return () =>
        keepSending(run, [account], (_, nonce) =>
          sign(account, { nonce, to, data, gasLimit: DEEP_GAS, ...REPEATED_FEES }),
        )
    },
    meanwhile: importChain,
  },
]
