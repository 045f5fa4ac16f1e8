import { setTimeout as sleep } from 'node:timers/promises'
import { encodeFunctionData, parseAbi } from 'viem'
import { type Account, accountOf, type Signed, sign, signAuthorization } from '../../bench/load/sign.ts'
import { AUTHORIZATION_TYPE_NAMES, MsgExec, MsgGrant, StakeAuthorization } from '../../src/modules/authz/types.ts'
import { MsgSend } from '../../src/modules/bank/messages.ts'
import { MsgSubmitProposal } from '../../src/modules/gov/types.ts'
import { moduleAddress, toAddress, toBech32 } from '../../src/primitives/address.ts'
import { bytesToHex } from '../../src/primitives/bytes.ts'
import { keccak256 } from '../../src/primitives/hash.ts'
import { rpc } from '../e2e/rpc.ts'
import { anyOf, signTestTransaction } from '../native/signTransaction.ts'
import type { Attack, Run } from './attack.ts'
import { keepPosting } from './load.ts'
import {
  addressOf,
  deployRepeater,
  keepRepeating,
  keepSending,
  MOST_GAS,
  REPEATED_FEES,
  urlOf,
} from './repeatedCall.ts'

/*
 * What strangers with 100 COIN have tried to stop the chain: each kind of work that once took blocks longer than the time to build and check
 * them. `npm run test:attack -- stop` runs them against four validators.
 */

const GOV = '0x0000000000000000000000000000000000000805'
const DISTRIBUTION = '0x0000000000000000000000000000000000000801'
const GOV_ABI = parseAbi([
  'struct Coin { string denom; uint256 amount; }',
  'struct PageRequest { bytes key; uint64 offset; uint64 limit; bool countTotal; bool reverse; }',
  'function submitProposal(address proposer, bytes jsonProposal, Coin[] deposit) returns (uint64)',
  'function getProposals(uint32 proposalStatus, address voter, address depositor, PageRequest pagination) view returns (uint64)',
])
const DISTRIBUTION_ABI = parseAbi(['function delegatorValidators(address delegatorAddress) view returns (string[])'])
const ZERO = '0x0000000000000000000000000000000000000000'
const RECEIVER = toAddress(new Uint8Array(20).fill(0xcc))
const CONNECTIONS = 16
const GWEI = 10n ** 9n

type Outsider = '1' | '4' | '5' | '6' | '6b' | '9' | '10' | '11' | '12' | '13'

/** The account of an attack. */
function outsider(name: Outsider): Account {
  return accountOf(`outsider ${name}`)
}

/** Accounts to which the genesis gives 100 COIN. */
export const OUTSIDERS: readonly Account[] = (['1', '4', '5', '6', '6b', '9', '10', '11', '12', '13'] as const).map(
  outsider,
)

const callOf = (method: string, ...params: readonly unknown[]): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })

async function nonceOf(run: Run, account: Account): Promise<bigint> {
  return BigInt(await rpc<string>(urlOf(run), 'eth_getTransactionCount', addressOf(account), 'latest'))
}

/** Broadcasts a native transaction and waits until its sequence is used. */
async function sendNative(run: Run, account: Account, messages: Parameters<typeof nativeOf>[2]): Promise<void> {
  const sequence = await nonceOf(run, account)
  await rpc(
    `${urlOf(run)}rpc/`,
    'broadcast_tx_sync',
    Buffer.from(nativeOf(account, sequence, messages)).toString('base64'),
  )
  const endMs = performance.now() + 60_000
  while ((await nonceOf(run, account)) === sequence && performance.now() < endMs) await sleep(200)
}

function nativeOf(
  account: Account,
  sequence: bigint,
  messages: Parameters<typeof signTestTransaction>[0]['messages'],
  gasLimit = 20_000_000n,
): Uint8Array {
  return signTestTransaction({
    messages,
    signers: [{ privateKey: account.key, sequence }],
    gasLimit,
    feeAcoin: gasLimit * 3n * GWEI,
  })
}

/** JSON of a proposal that changes one parameter by an object with thousands of names that it does not have. */
function unknownParameters(count: number): string {
  const value = JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, i) => [`n${i}`, 0])))
  const changes = [{ subspace: 'baseapp', key: 'block', value }]
  return JSON.stringify({
    messages: [
      {
        '@type': '/cosmos.gov.v1.MsgExecLegacyContent',
        content: { '@type': '/cosmos.params.v1beta1.ParameterChangeProposal', title: 't', description: 'd', changes },
        authority: toBech32(moduleAddress('gov')),
      },
    ],
    metadata: '',
    title: 't',
    summary: 's',
  })
}

function submission(proposer: string, size: number): `0x${string}` {
  const jsonProposal = bytesToHex(new TextEncoder().encode(unknownParameters(size)))
  return encodeFunctionData({
    abi: GOV_ABI,
    functionName: 'submitProposal',
    args: [proposer as `0x${string}`, jsonProposal, []],
  })
}

/** A transaction of 62 KB that sets hundreds of accounts' code, each with a signature of its own. */
function authorizationsOf(account: Account, nonce: bigint, count: number): Signed {
  const authorizationList = Array.from({ length: count }, (_, i) =>
    signAuthorization(account, { chainId: 0n, address: RECEIVER, nonce: nonce + BigInt(i) }),
  )
  return sign(account, { type: 4, nonce, to: RECEIVER, gasLimit: MOST_GAS, authorizationList, ...REPEATED_FEES })
}

/** Bodies of `eth_sendRawTransaction` of transactions that hold many authorizations. */
function manyAuthorizations(run: Run, makeAccount: (index: number) => Account, nonceAt: (index: number) => bigint) {
  const bodies = Array.from({ length: run.size }, (_, index) =>
    callOf('eth_sendRawTransaction', authorizationsOf(makeAccount(index), nonceAt(index), 668).raw),
  )
  let next = 0
  return () => keepPosting(run, CONNECTIONS, () => bodies[next++ % bodies.length]!)
}

/** Transactions of 100 KB behind a nonce that never comes. */
function largeBehindGap(account: Account, count: number): readonly string[] {
  const data = new Uint8Array(100_000)
  return Array.from({ length: count }, (_, index) =>
    callOf(
      'eth_sendRawTransaction',
      sign(account, { nonce: BigInt(2 + index), to: RECEIVER, data, gasLimit: 2_000_000n }).raw,
    ),
  )
}

const PAGES = [
  '/cosmos/gov/v1/proposals?pagination.limit=1000',
  '/cosmos/staking/v1beta1/validators?pagination.limit=1000&pagination.count_total=true',
  '/cosmos/authz/v1beta1/grants/granter/coin1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq?pagination.limit=1000',
] as const

/** By number of what they try. */
export const STRANGERS_ATTACKS: readonly Attack[] = [
  {
    name: '1 unknown parameters',
    what: 'full transactions that submit proposals with # unknown parameters, again and again',
    size: 7_000,
    prepare: async (run) => {
      const account = outsider('1')
      const repeater = await deployRepeater(run, account, GOV)
      return () => keepRepeating(run, [account], { repeater, data: submission(repeater, run.size) })
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
      const authority = toBech32(moduleAddress('gov'))
      const message = anyOf(MsgSend, {
        fromAddress: authority,
        toAddress: toBech32(RECEIVER),
        amount: [{ denom: 'acoin', amount: 1n }],
      })
      for (let proposal = 0; proposal < 3; proposal++) {
        const value = {
          messages: Array.from({ length: run.size }, () => message),
          initialDeposit: [{ denom: 'acoin', amount: 2n * 10n ** 17n }],
          proposer: toBech32(account.address),
          title: 't',
          summary: 's',
        }
        await sendNative(run, account, [anyOf(MsgSubmitProposal, value)])
      }
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
      const send = anyOf(MsgSend, {
        fromAddress: grantee,
        toAddress: toBech32(RECEIVER),
        amount: [{ denom: 'acoin', amount: 1n }],
      })
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
    name: '9 refused authorizations',
    what: '# transactions of 668 authorizations by accounts without coins',
    size: 300,
    prepare: async (run) =>
      manyAuthorizations(
        run,
        (index) => accountOf(`penniless ${index}`),
        () => 0n,
      ),
  },
  {
    name: '9 waiting authorizations',
    what: '# transactions of 668 authorizations behind a missing nonce',
    size: 300,
    prepare: async (run) =>
      manyAuthorizations(
        run,
        () => outsider('9'),
        (index) => BigInt(2 + index),
      ),
  },
  {
    name: '10 copies of the pool',
    what: '# MB of transactions behind missing nonces, then batches that ask for all of them',
    size: 100,
    prepare: async (run) => {
      const account = outsider('10')
      for (const body of largeBehindGap(account, run.size * 10)) {
        await fetch(urlOf(run), { method: 'POST', headers: { 'content-type': 'application/json' }, body })
      }
      const methods = ['txpool_content', 'txpool_inspect', 'eth_pendingTransactions']
      const batch = `[${Array.from({ length: 16 }, (_, index) =>
        index % 2 === 0 ? callOf('txpool_contentFrom', addressOf(account)) : callOf(methods[index % methods.length]!),
      ).join(',')}]`
      return () => keepPosting(run, CONNECTIONS, () => batch)
    },
  },
  {
    name: '11 long calls',
    what: `${CONNECTIONS} connections that call proposals with # unknown parameters, and ask for long pages`,
    size: 7_000,
    prepare: async (run) => {
      const account = outsider('11')
      const repeater = await deployRepeater(run, account, GOV)
      const call = callOf(
        'eth_call',
        { to: repeater, data: submission(repeater, run.size), gas: '0x2faf080' },
        'latest',
      )
      const asks = PAGES.map((page) => async () => {
        while (!run.signal.aborted) {
          try {
            const answer = await fetch(new URL(page, urlOf(run)), { signal: run.signal })
            run.count(`HTTP ${answer.status}`)
            await answer.arrayBuffer()
          } catch {
            run.count('broken')
            await sleep(20)
          }
        }
      })
      return async () => {
        await Promise.all([keepPosting(run, CONNECTIONS, () => call), ...asks.map((ask) => ask())])
      }
    },
  },
  {
    name: '12 co-signers that never come',
    what: '# native transactions whose second signer has a missing sequence',
    size: 5_000,
    prepare: async (run) => {
      const payer = outsider('12')
      const bodies = Array.from({ length: run.size }, (_, index) => {
        const first = accountOf(`co-signer ${index}`)
        const messages = [first, payer].map((account) =>
          anyOf(MsgSend, {
            fromAddress: toBech32(account.address),
            toAddress: toBech32(RECEIVER),
            amount: [{ denom: 'acoin', amount: 1n }],
          }),
        )
        const raw = signTestTransaction({
          messages,
          signers: [{ privateKey: first.key }, { privateKey: payer.key, sequence: 50 + index }],
          feePayer: toBech32(payer.address),
          gasLimit: 100_000n,
          feeAcoin: 10n ** 16n,
        })
        return callOf('broadcast_tx_sync', Buffer.from(raw).toString('base64'))
      })
      let next = 0
      return () => keepPosting(run, CONNECTIONS, () => bodies[next++ % bodies.length]!, '/rpc/')
    },
  },
  {
    name: '13 drained senders',
    what: '# accounts whose transactions wait when their coins leave',
    size: 2_000,
    prepare: async (run) => {
      const main = outsider('13')
      const accounts = Array.from({ length: run.size }, (_, index) => accountOf(`drained ${index}`))
      return async () => {
        let nonce = await nonceOf(run, main)
        for (let round = 0; !run.signal.aborted; round++) {
          const account = accounts[round % accounts.length]!
          const fund = sign(main, { nonce: nonce++, to: account.address, value: 10n ** 16n })
          await rpc(urlOf(run), 'eth_sendRawTransaction', fund.raw).catch(() => run.count('refused'))
          await sleep(20)
          const first = await nonceOf(run, account)
          for (let ahead = 0n; ahead < 16n; ahead++) {
            const { raw } = sign(account, { nonce: first + 1n + ahead, to: RECEIVER, value: 1n })
            await rpc(urlOf(run), 'eth_sendRawTransaction', raw).then(
              () => run.count('waiting'),
              () => run.count('refused'),
            )
          }
          const { raw } = sign(account, { nonce: first, to: main.address, value: 9n * 10n ** 15n })
          await rpc(urlOf(run), 'eth_sendRawTransaction', raw).catch(() => run.count('refused'))
          run.count('drained')
        }
      }
    },
  },
]

/** Keeps a native transaction of an account on its way. */
async function keepBroadcasting(run: Run, account: Account, make: (sequence: bigint) => Uint8Array): Promise<void> {
  await keepSending(
    run,
    [account],
    (_, sequence) => {
      const raw = make(sequence)
      return { raw: Buffer.from(raw).toString('base64'), hash: bytesToHex(keccak256(raw)) }
    },
    async (raw) => {
      const { code, log } = await rpc<{ code: number; log: string }>(`${urlOf(run)}rpc/`, 'broadcast_tx_sync', raw)
      if (code !== 0) throw new Error(log)
    },
  )
}
