import { setTimeout as sleep } from 'node:timers/promises'
import { type Account, accountOf, type Signed, sign, signAuthorization } from '../../bench/load/sign.ts'
import { toBech32 } from '../../src/primitives/address.ts'
import { rpc } from '../e2e/rpc.ts'
import { signTestTransaction } from '../native/signTransaction.ts'
import type { Attack, Run } from './attack.ts'
import { keepPosting } from './load.ts'
import { callOf, nonceOf, outsider, RECEIVER, sendOne } from './outsiders.ts'
import { GOV, submission, unknownNames } from './parameterProposals.ts'
import { addressOf, deployRepeater, MOST_GAS, REPEATED_FEES, urlOf } from './repeatedCall.ts'
import { attackerAccount, senderRange } from './transactionAttacks.ts'

const CONNECTIONS = 16
/** A sixth of a block; an account of `attackerAccount` can pay it at this fee. */
const POSTPONED_GAS = 4_000_000n
const LEAST_FEE = 15n * 10n ** 8n

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

/** What accounts and clients have sent to pools and views so that no block was decided meanwhile; by the number of the fault. */
export const POOL_ATTACKS: readonly Attack[] = [
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
        { to: repeater, data: submission(repeater, unknownNames(run.size)), gas: '0x2faf080' },
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
        const messages = [first, payer].map(({ address }) => sendOne(address))
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
      return () => keepPosting(run, CONNECTIONS, () => bodies[next++ % bodies.length]!, { path: '/rpc/' })
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
  {
    name: '15 postponed transactions',
    what: 'transfers of # accounts that each reserve the most gas, of which a block has room for few',
    size: 1_000,
    needs: { accepted: 100 },
    prepare: async (run) => {
      const { from, to } = senderRange(run, 'postponed transactions')
      const fee = { maxFeePerGas: LEAST_FEE, maxPriorityFeePerGas: LEAST_FEE, gasLimit: POSTPONED_GAS }
      const bodies = Array.from({ length: Math.min(run.size, to - from) }, (_, index) =>
        sign(attackerAccount(from + index), { nonce: 0n, to: RECEIVER, value: 1n, ...fee }),
      )
      return async () => {
        for (const { raw } of bodies) {
          if (run.signal.aborted) return
          await rpc(urlOf(run), 'eth_sendRawTransaction', raw).then(
            () => run.count('accepted'),
            (error: unknown) =>
              run.count(
                String(error)
                  .replaceAll(/[0-9]+/g, '#')
                  .slice(0, 60),
              ),
          )
        }
      }
    },
  },
  {
    name: '15 false forwarding',
    what: `${CONNECTIONS} connections that say by X-Forwarded-For that they are the node's own machine`,
    size: 1,
    needs: { answered: 1_000, 'HTTP 429': 1 },
    prepare: async (run) => {
      const headers = { 'x-forwarded-for': '127.0.0.1' }
      return () => keepPosting(run, CONNECTIONS, () => callOf('eth_blockNumber'), { headers })
    },
  },
]
