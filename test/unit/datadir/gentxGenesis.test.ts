import { privateKeyToAccount } from 'viem/accounts'
import { afterEach, describe, expect, it } from 'vitest'
import { addGenesisAccount } from '../../../src/chain/genesis/addGenesisAccount.ts'
import { createDraftGenesis } from '../../../src/chain/genesis/createGenesis.ts'
import { formatGenesis, parseGenesis } from '../../../src/chain/genesis/genesis.ts'
import type { Genesis } from '../../../src/chain/genesis/genesisSchema.ts'
import { localSigner } from '../../../src/cli/keys/signer.ts'
import { signGentx } from '../../../src/cli/tx/signGentx.ts'
import { CREATE_VALIDATOR } from '../../../src/cli/tx/stakingCommands.ts'
import { advanceState } from '../../../src/consensus/consensusState.ts'
import { checkInvariants } from '../../../src/datadir/checkInvariants.ts'
import { checkGentxs, collectGentxs } from '../../../src/datadir/collectGentxs.ts'
import { MsgSend } from '../../../src/modules/bank/messages.ts'
import { MsgDelegate } from '../../../src/modules/staking/messages.ts'
import { ZERO_ADDRESS } from '../../../src/primitives/address.ts'
import { bytesToHex, hexToBytes } from '../../../src/primitives/bytes.ts'
import { JSON_TYPES_OF_ANY } from '../../../src/rpc/cosmos/anyTypes.ts'
import { Journal } from '../../../src/state/journal.ts'
import { getDelegated } from '../../../src/state/vesting.ts'
import { createViewCaches, openView } from '../../../src/state/view.ts'
import { Database } from '../../../src/storage/database.ts'
import { anyOf, signTestTransaction, testAccount } from '../../native/signTransaction.ts'
import { GENESIS_TIME_MS } from '../../support/execution/testChain.ts'
import {
  blockTimeMs,
  type NetworkNode,
  openNetworkNode,
  proposeBlock,
  testValidator,
} from '../../support/execution/testNetwork.ts'

const COIN = 10n ** 18n
const OPERATORS = [1, 2, 3, 4].map((number) => testAccount(number))
const [, vesting] = OPERATORS

let nodes: NetworkNode[] = []
afterEach(async () => {
  for (const node of nodes) await node.close()
  nodes = []
})

/** Of four operators, each with 1000 COIN and 400 at stake; of the second 800 are locked for a minute after the start. */
async function collectedGenesis(): Promise<Genesis> {
  let draft = createDraftGenesis({ chainId: 'coin_76287-1', genesisTimeMs: GENESIS_TIME_MS })
  const endTime = BigInt(GENESIS_TIME_MS / 1000 + 60)
  for (const { address } of OPERATORS) {
    const locked = { amountAcoin: 800n * COIN, startTime: 0n, endTime }
    const account = { address, balanceAcoin: 1000n * COIN, ...(address === vesting!.address && { vesting: locked }) }
    draft = addGenesisAccount(draft, account)
  }
  const gentxs = OPERATORS.map(async (signer, index) => {
    const defaults = { commissionRate: '0.1', commissionMaxRate: '0.2', commissionMaxChangeRate: '0.01' }
    const pubkey = Buffer.from(testValidator(index).key.publicKey).toString('base64')
    const [message] = await CREATE_VALIDATOR.build({
      from: signer.bech32,
      args: ['400COIN'],
      options: { ...defaults, minSelfDelegation: '1acoin', moniker: `node${index}`, pubkey },
      client: undefined as never,
      terminal: undefined as never,
    })
    const terms = { genesis: draft, message: message!, memo: '', gasLimit: 200_000n }
    const json = await signGentx({ ...terms, signer: localSigner(signer.privateKey) })
    return { name: `gentx-${index}.json`, json }
  })
  const { genesis } = collectGentxs(draft, await Promise.all(gentxs), JSON_TYPES_OF_ANY)
  return parseGenesis(formatGenesis(genesis))
}

describe('a genesis from the transactions of four operators', () => {
  it('starts, and its locked coins stay', async () => {
    const genesis = await collectedGenesis()
    checkGentxs(genesis, JSON_TYPES_OF_ANY)
    for (let i = 0; i < 4; i++) nodes.push(await openNetworkNode(genesis))
    const [proposer, ...others] = nodes as [NetworkNode, ...NetworkNode[]]
    let state = await proposer.state()
    const next = async (raws: readonly Uint8Array[]) => {
      const decided = await proposeBlock(proposer, state, { raws })
      const result = await proposer.executor.application.finalizeBlock(decided)
      for (const node of others) {
        expect(await node.executor.application.processProposal(decided.block)).toEqual({ accepted: true })
        expect(await node.executor.application.finalizeBlock(decided)).toEqual(result)
      }
      state = advanceState(state, decided, result)
      return decided.block.txs.length
    }
    const read = async <T>(use: (world: Journal) => T): Promise<T> => {
      const database = await Database.open(proposer.location, { readOnly: true })
      const snapshot = database.snapshot()
      try {
        const view = openView(snapshot, createViewCaches())
        const { problems } = await checkInvariants(view)
        expect(problems).toEqual([])
        const world = new Journal(view.stateAt(view.chain.headHeight))
        world.setTime(Math.floor(blockTimeMs(view.chain.headHeight) / 1000))
        return use(world)
      } finally {
        await snapshot.close()
        await database.close()
      }
    }
    const { address, bech32, privateKey, operator } = vesting!
    const spendable = () => read((world) => world.getSpendable(address))

    // 600 are left; of 800 locked ones 400 are at stake.
    await next([])
    expect(await spendable()).toBe(200n * COIN)
    const transfer = async (nonce: number, value: bigint): Promise<Uint8Array> =>
      hexToBytes(
        await privateKeyToAccount(bytesToHex(privateKey)).signTransaction({
          chainId: 76287,
          type: 'eip1559',
          gas: 21_000n,
          maxFeePerGas: 10n ** 10n,
          nonce,
          to: bytesToHex(ZERO_ADDRESS),
          value,
        }),
      )
    expect(await next([await transfer(0, 200n * COIN)])).toBe(0)
    const send = {
      fromAddress: bech32,
      toAddress: OPERATORS[0]!.bech32,
      amount: [{ denom: 'acoin', amount: 201n * COIN }],
    }
    const stake = { denom: 'acoin', amount: 500n * COIN }
    const delegate = { delegatorAddress: bech32, validatorAddress: operator, amount: stake }
    const native = (sequence: number, message: ReturnType<typeof anyOf>): Uint8Array =>
      signTestTransaction({ messages: [message], signers: [{ privateKey, sequence }], gasLimit: 200_000n })
    // A send of locked coins fails and has paid; all locked coins can be staked.
    expect(await next([native(0, anyOf(MsgSend, send)), native(1, anyOf(MsgDelegate, delegate))])).toBe(2)
    expect(await read((world) => getDelegated(world.native, address))).toEqual({
      vesting: 800n * COIN,
      free: 100n * COIN,
    })
    const left = await spendable()
    expect(left).toBeGreaterThan(99n * COIN)
    expect(left).toBeLessThan(100n * COIN)
    for (const node of nodes) await node.reopen()
    expect(await next([await transfer(2, 99n * COIN)])).toBe(1)
    expect(await read((world) => world.getBalance(ZERO_ADDRESS))).toBe(99n * COIN)
  })
})
