import { type OfflineSigner, Registry } from '@cosmjs/proto-signing'
import { AminoTypes, createDefaultAminoConverters, defaultRegistryTypes, SigningStargateClient } from '@cosmjs/stargate'
import { MsgSubmitProposal } from 'cosmjs-types/cosmos/gov/v1/tx'
import { Tx, TxRaw } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import type { Action, Cost, Wallet } from './action.ts'
import { cometUrl, DENOM, type KeplrChainInfo, keplrChainInfo, type WalletChain } from './chain.ts'
import { GOV_AMINO, nativeMessages, proposalJson, SUBMIT_PROPOSAL } from './nativeMessages.ts'

/* Keplr, and wallets with its interface. They sign; CosmJS asks the public RPC address for what it needs and sends there. */

/** What is used of `window.keplr`. */
export interface Keplr {
  experimentalSuggestChain(info: KeplrChainInfo): Promise<void>
  enable(chainId: string): Promise<void>
  getOfflineSignerAuto(chainId: string, options?: { readonly preferNoSetFee: boolean }): Promise<OfflineSigner>
}

/** Gas that a transaction gets beyond what its simulation took, in percent. All of the fee is taken. */
const SPARE_PERCENT = 30n
/** The price is this much of the base fee, in percent: a few full blocks raise that until the transaction is in one. */
const PRICE_PERCENT = 150n

/**
 * Asks the wallet for its account on this chain, after it has learnt of the chain.
 * @param name of the wallet
 */
export async function connectKeplr(keplr: Keplr, name: string, chain: WalletChain): Promise<Wallet> {
  await keplr.experimentalSuggestChain(keplrChainInfo(chain))
  await keplr.enable(chain.id)
  const signer = ethereumKeys(await keplr.getOfflineSignerAuto(chain.id, { preferNoSetFee: true }))
  const [account] = await signer.getAccounts()
  if (account === undefined) throw new Error('the wallet has no account')
  const own = account.address
  let client: Promise<SigningStargateClient> | undefined
  /** It is connected with the first use. A failure is not kept. */
  const connected = (): Promise<SigningStargateClient> => {
    client ??= SigningStargateClient.connectWithSigner(cometUrl(chain.rpcUrl), signer, {
      registry: new Registry(defaultRegistryTypes),
      aminoTypes: new AminoTypes({ ...createDefaultAminoConverters(), ...GOV_AMINO }),
    })
    client.catch(() => {
      client = undefined
    })
    return client
  }
  const messagesOf = async (action: Action) =>
    action.kind === 'propose' && action.proposal.messages.length > 0
      ? [await encodedProposal(action, own, chain.rpcUrl)]
      : nativeMessages(action, own)
  return {
    name,
    address: own,
    isOnChain: true,
    switchChain: () => Promise.resolve(),
    estimate: async (action): Promise<Cost> => {
      const simulating = await connected()
      const [messages, baseFee] = await Promise.all([messagesOf(action), baseFeeOf(chain.rpcUrl)])
      const used = BigInt(await simulating.simulate(own, messages, ''))
      const gas = (used * (100n + SPARE_PERCENT)) / 100n
      return { gas, fee: (gas * baseFee * PRICE_PERCENT) / 100n }
    },
    submit: async (action, { gas, fee }) => {
      const signing = await connected()
      const amount = [{ denom: DENOM, amount: fee.toString() }]
      const signed = await signing.sign(own, await messagesOf(action), { amount, gas: gas.toString() }, '')
      const hash = await signing.broadcastTxSync(TxRaw.encode(signed).finish())
      return `0x${hash.toLowerCase()}`
    },
  }
}

/** The same signer, with what its keys are: some wallets name all of them `secp256k1`. */
function ethereumKeys(signer: OfflineSigner): OfflineSigner {
  const getAccounts = async () =>
    (await signer.getAccounts()).map((account) => ({ ...account, algo: 'eth_secp256k1' as const }))
  return 'signDirect' in signer
    ? { getAccounts, signDirect: (address, document) => signer.signDirect(address, document) }
    : { getAccounts, signAmino: (address, document) => signer.signAmino(address, document) }
}

/** acoin a gas, rounded up. */
async function baseFeeOf(rpcUrl: string): Promise<bigint> {
  const answer = await fetch(`${rpcUrl}/cosmos/evm/feemarket/v1/base_fee`)
  const { base_fee } = (await answer.json()) as { readonly base_fee: string }
  return BigInt(base_fee.split('.')[0]!) + 1n
}

/**
 * A proposal with messages, which may be of types that CosmJS does not know: the node encodes it. The wallet shows what it signs.
 * @throws Error when the node does not know a type or a field, or gives something else than it was asked for
 */
async function encodedProposal(
  { proposal, deposit }: Action & { readonly kind: 'propose' },
  own: string,
  rpcUrl: string,
) {
  const messages = [proposalJson(proposal, deposit, own)]
  const tx = {
    body: { messages, memo: '' },
    auth_info: { signer_infos: [], fee: { amount: [], gas_limit: '0' } },
    signatures: [],
  }
  const answer = await fetch(`${rpcUrl}/cosmos/tx/v1beta1/encode`, { method: 'POST', body: JSON.stringify({ tx }) })
  const read = (await answer.json()) as { readonly tx_bytes?: string; readonly message?: string }
  if (read.tx_bytes === undefined)
    throw new Error(read.message ?? `the node does not encode the proposal: status ${answer.status}`)
  const bytes = Uint8Array.from(atob(read.tx_bytes), (character) => character.charCodeAt(0))
  const value = MsgSubmitProposal.decode(Tx.decode(bytes).body!.messages[0]!.value)
  const types = value.messages.map(({ typeUrl }) => typeUrl)
  const isSame =
    value.proposer === own &&
    value.title === proposal.title &&
    value.summary === proposal.summary &&
    types.join() === proposal.messages.map((message) => message['@type']).join()
  if (!isSame) throw new Error('the node gave another proposal than it was asked to encode')
  return { typeUrl: SUBMIT_PROPOSAL, value }
}
