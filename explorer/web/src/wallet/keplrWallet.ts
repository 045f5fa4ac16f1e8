import type { AminoSignResponse, OfflineAminoSigner, StdFee, StdSignDoc } from '@cosmjs/amino'
import { type AccountData, type OfflineDirectSigner, type OfflineSigner, Registry } from '@cosmjs/proto-signing'
import { AminoTypes, createDefaultAminoConverters, defaultRegistryTypes, SigningStargateClient } from '@cosmjs/stargate'
import { MsgSubmitProposal } from 'cosmjs-types/cosmos/gov/v1/tx'
import { Tx, TxRaw } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import type { Action, Cost, Wallet } from './action.ts'
import { cometUrl, DENOM, type KeplrChainInfo, keplrChainInfo, type WalletChain } from './chain.ts'
import { GOV_AMINO, isShownInAmino, nativeMessages, proposalJson, SUBMIT_PROPOSAL } from './nativeMessages.ts'
import { type TypedData, typedDataOf } from './typedData.ts'

/* Keplr, and wallets with its interface. They sign; CosmJS asks the public RPC address for what it needs and sends there. */

/** The used part of `window.keplr`. */
export interface Keplr {
  experimentalSuggestChain(info: KeplrChainInfo): Promise<void>
  enable(chainId: string): Promise<void>
  getKey(chainId: string): Promise<KeplrKey>
  getOfflineSigner(chainId: string, options: SignOptions): OfflineDirectSigner
  getOfflineSignerOnlyAmino(chainId: string, options: SignOptions): OfflineAminoSigner
  /** for accounts of a Ledger alone; absent in some wallets of this kind */
  experimentalSignEIP712CosmosTx_v0?(
    chainId: string,
    signer: string,
    typedData: TypedData,
    document: StdSignDoc,
    options: SignOptions,
  ): Promise<AminoSignResponse>
}

/** An account of the wallet. */
interface KeplrKey {
  /** coin1… */
  readonly bech32Address: string
  readonly pubKey: Uint8Array
  readonly isNanoLedger: boolean
}

interface SignOptions {
  readonly preferNoSetFee: boolean
}

/** The page sets the fee, because it knows the transaction's gas. */
const OPTIONS: SignOptions = { preferNoSetFee: true }

/** Gas that a transaction gets beyond what its simulation took, in percent. All of the fee is taken. */
const SPARE_PERCENT = 30n
const SIGNATURE_BYTES = 64
/** The price is this much of the base fee, in percent: a few full blocks raise that until the transaction is in one. */
const PRICE_PERCENT = 150n

/**
 * Adds the chain to the wallet, and asks its owner for an account there. The wallet opens its window.
 * @param name of the wallet
 */
export async function connectKeplr(keplr: Keplr, name: string, chain: WalletChain): Promise<Wallet> {
  await keplr.experimentalSuggestChain(keplrChainInfo(chain))
  await keplr.enable(chain.id)
  return keplrWallet(keplr, name, chain)
}

/** The wallet with the account that is chosen in it now; its owner has agreed to that before. */
export async function keplrWallet(keplr: Keplr, name: string, chain: WalletChain): Promise<Wallet> {
  const key = await keplr.getKey(chain.id)
  const own = key.bech32Address
  const clients = new Map<'direct' | 'amino', Promise<SigningStargateClient>>()
  /** A client is connected with its first use. A failure is not cached. */
  const connected = (action: Action): Promise<SigningStargateClient> => {
    const form = key.isNanoLedger || isShownInAmino(action) ? 'amino' : 'direct'
    const known = clients.get(form)
    if (known !== undefined) return known
    const signer = key.isNanoLedger ? ledgerSigner(keplr, key, chain) : softwareSigner(keplr, key, chain, form)
    const client = SigningStargateClient.connectWithSigner(cometUrl(chain.rpcUrl), signer, {
      registry: new Registry(defaultRegistryTypes),
      aminoTypes: new AminoTypes({ ...createDefaultAminoConverters(), ...GOV_AMINO }),
    })
    clients.set(form, client)
    client.catch(() => clients.delete(form))
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
      const simulating = await connected(action)
      const [messages, baseFee] = await Promise.all([messagesOf(action), baseFeeOf(chain.rpcUrl)])
      const used = BigInt(await simulating.simulate(own, messages, ''))
      const gas = (used * (100n + SPARE_PERCENT)) / 100n
      return { gas, fee: (gas * baseFee * PRICE_PERCENT) / 100n }
    },
    submit: async (action, { gas, fee }) => {
      const signing = await connected(action)
      const amount = [{ denom: DENOM, amount: fee.toString() }]
      const signed = await signing.sign(own, await messagesOf(action), { amount, gas: gas.toString() }, '')
      const hash = await signing.broadcastTxSync(TxRaw.encode(signed).finish())
      return `0x${hash.toLowerCase()}`
    },
  }
}

/** The account as CosmJS has it; some wallets name all keys `secp256k1`. */
function accountsOf({ bech32Address: address, pubKey: pubkey }: KeplrKey): () => Promise<readonly AccountData[]> {
  return async () => [{ address, pubkey, algo: 'eth_secp256k1' }]
}

function softwareSigner(keplr: Keplr, key: KeplrKey, chain: WalletChain, form: 'direct' | 'amino'): OfflineSigner {
  const getAccounts = accountsOf(key)
  if (form === 'direct') {
    const signer = keplr.getOfflineSigner(chain.id, OPTIONS)
    return { getAccounts, signDirect: (address, document) => signer.signDirect(address, document) }
  }
  const signer = keplr.getOfflineSignerOnlyAmino(chain.id, OPTIONS)
  return { getAccounts, signAmino: (address, document) => signer.signAmino(address, document) }
}

/** Signs typed data with the Ledger's Ethereum app: its Cosmos app has no such keys. */
export function ledgerSigner(
  keplr: Pick<Keplr, 'experimentalSignEIP712CosmosTx_v0'>,
  key: KeplrKey,
  chain: Pick<WalletChain, 'id' | 'evmId'>,
): OfflineAminoSigner {
  return {
    getAccounts: accountsOf(key),
    signAmino: async (address, document) => {
      if (keplr.experimentalSignEIP712CosmosTx_v0 === undefined) {
        throw new Error('This wallet cannot sign with a Ledger on this network. Use another account.')
      }
      const { signed, signature } = await keplr.experimentalSignEIP712CosmosTx_v0(
        chain.id,
        address,
        typedDataOf(document, chain.evmId),
        // It is a member of the typed data, and not of the transaction.
        { ...document, fee: { ...document.fee, feePayer: address } as StdFee },
        OPTIONS,
      )
      const { amount, gas } = signed.fee
      // r, s and v; a native transaction has no v.
      const bytes = fromBase64(signature.signature).subarray(0, SIGNATURE_BYTES)
      return { signed: { ...signed, fee: { amount, gas } }, signature: { ...signature, signature: toBase64(bytes) } }
    },
  }
}

/** acoin per gas, rounded up. */
async function baseFeeOf(rpcUrl: string): Promise<bigint> {
  const answer = await fetch(`${rpcUrl}/cosmos/evm/feemarket/v1/base_fee`)
  const { base_fee } = (await answer.json()) as { readonly base_fee: string }
  return BigInt(base_fee.split('.')[0]!) + 1n
}

/**
 * A proposal with messages, which may be of types that CosmJS does not know: the node encodes it. The wallet shows what it signs.
 * @throws Error when the node does not know a type or a field, or returns something else than requested
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
    throw new Error(read.message ?? `the node could not encode the proposal: status ${answer.status}`)
  const bytes = fromBase64(read.tx_bytes)
  const value = MsgSubmitProposal.decode(Tx.decode(bytes).body!.messages[0]!.value)
  const types = value.messages.map(({ typeUrl }) => typeUrl)
  const isSame =
    value.proposer === own &&
    value.title === proposal.title &&
    value.summary === proposal.summary &&
    types.join() === proposal.messages.map((message) => message['@type']).join()
  if (!isSame) throw new Error('The node encoded a different proposal, so nothing was signed. Try again later.')
  return { typeUrl: SUBMIT_PROPOSAL, value }
}

function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
}

function toBase64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
}
