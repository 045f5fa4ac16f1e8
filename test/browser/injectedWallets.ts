import type { StdSignDoc } from '@cosmjs/amino'
import { DirectEthSecp256k1Wallet } from '@cosmjs/proto-signing'
import { SignDoc, TxBody } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import type { BrowserContext, Page } from 'playwright-core'
import { createWalletClient, type Hex, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { KeplrChainInfo } from '../../explorer/web/src/wallet/chain.ts'
import type { TypedData } from '../../explorer/web/src/wallet/typedData.ts'
import { viemChain } from '../e2e/devChain.ts'
import { post } from '../e2e/rpc.ts'
import { COSMJS_SIGNERS } from '../native/cosmJsSigners.ts'
import { signAsKeplrLedger } from '../native/keplrLedger.ts'

/* Wallets as extensions put them into pages. What the page sees is a few lines in it; keys and answers are here, in the test. */

/** A wallet whose owner agrees to everything, but for what a test has them refuse. */
export interface InjectedWallet {
  /** methods that were asked for, in their order */
  readonly asked: string[]
  /** what was added or suggested */
  readonly chains: unknown[]
  /** the next request to sign or to connect is refused */
  refuseNext(): void
  /** its owner changes to another account in it, and it tells the page */
  useKey(page: Page, key: Hex): Promise<void>
}

interface WalletError {
  readonly code: number
  readonly message: string
}

const MAINNET = '0x1'

/** Tells the page of the wallet whenever it asks, as EIP-6963 wants it, and not by `window.ethereum`. */
const ANNOUNCE = `{
  const listeners = {}
  const tellPage = (name, value) => { for (const listener of listeners[name] ?? []) listener(value) }
  window.tellPage = tellPage
  const provider = {
    request: async ({ method, params }) => {
      const { result, error, changes = {} } = await askEthereumWallet(method, params ?? [])
      for (const [name, value] of Object.entries(changes)) tellPage(name, value)
      if (error) throw Object.assign(new Error(error.message), error)
      return result
    },
    on: (name, listener) => { (listeners[name] ??= new Set()).add(listener) },
    removeListener: (name, listener) => { listeners[name]?.delete(listener) },
  }
  const info = { uuid: crypto.randomUUID?.() ?? 'a', name: 'Test Wallet', icon: 'data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg"/>', rdns: 'org.example.wallet' }
  const announce = () => dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail: Object.freeze({ info, provider }) }))
  addEventListener('eip6963:requestProvider', announce)
  announce()
}`

/** A wallet like MetaMask, which begins on another chain and does not know this one. */
export async function injectEthereumWallet(context: BrowserContext, key: Hex): Promise<InjectedWallet> {
  let account = privateKeyToAccount(key)
  const asked: string[] = []
  const chains: unknown[] = []
  const rpcUrls = new Map<Hex, string>()
  let isRefusing = false
  let isConnected = false
  let chainId: Hex = MAINNET
  const fail = (code: number, message: string): never => {
    throw { code, message } satisfies WalletError
  }
  const confirm = (): void => {
    if (!isRefusing) return
    isRefusing = false
    fail(4001, 'MetaMask Tx Signature: User denied transaction signature.')
  }
  const answer = async (method: string, params: readonly never[]): Promise<unknown> => {
    const [first] = params as unknown as [Record<string, never>]
    const url = rpcUrls.get(chainId)
    switch (method) {
      case 'eth_chainId':
        return chainId
      case 'eth_accounts':
        return isConnected ? [account.address] : []
      case 'eth_requestAccounts':
        confirm()
        isConnected = true
        return [account.address]
      case 'wallet_requestPermissions':
        return fail(-32601, 'The method does not exist / is not available.')
      case 'wallet_switchEthereumChain':
        if (!rpcUrls.has(first['chainId']!)) fail(4902, 'Unrecognized chain ID. Try adding the chain first.')
        chainId = first['chainId']!
        return null
      case 'wallet_addEthereumChain':
        confirm()
        chains.push(first)
        rpcUrls.set(first['chainId']!, (first['rpcUrls'] as unknown as readonly string[])[0]!)
        chainId = first['chainId']!
        return null
      case 'eth_sendTransaction': {
        confirm()
        const { to, value = '0x0', data, gas } = first as unknown as Record<string, Hex | undefined>
        const writer = createWalletClient({ account, chain: viemChain(url!), transport: http(url) })
        const fees = data === undefined ? {} : { data }
        return writer.sendTransaction({ to: to!, value: BigInt(value), gas: BigInt(gas!), ...fees })
      }
      default:
        return url === undefined ? fail(-32603, 'this chain has no node here') : askNode(url, method, params)
    }
  }
  await context.exposeFunction('askEthereumWallet', async (method: string, params: readonly never[]) => {
    asked.push(method)
    const before = chainId
    try {
      const result = await answer(method, params)
      return { result, ...(before !== chainId && { changes: { chainChanged: chainId } }) }
    } catch (error) {
      const { code = -32603, message } = error as Partial<WalletError> & Error
      return { error: { code, message } }
    }
  })
  await context.addInitScript(ANNOUNCE)
  return {
    asked,
    chains,
    refuseNext: () => {
      isRefusing = true
    },
    useKey: async (page, other) => {
      account = privateKeyToAccount(other)
      await page.evaluate(`tellPage('accountsChanged', ${JSON.stringify([account.address])})`)
    },
  }
}

/** What the node answers, with its own errors, as wallets hand them on. */
async function askNode(url: string, method: string, params: readonly unknown[]): Promise<unknown> {
  const { result, error } = await post(url, { method, params })
  if (error !== undefined) throw error
  return result
}

/** Bytes go to the test and back as hex, 64-bit numbers as texts. It announces itself as an Ethereum wallet, too. */
const KEPLR = `{
  const toHex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  const fromHex = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16))
  const ask = async (method, ...params) => {
    const { result, error } = await askKeplr(method, params)
    if (error) throw new Error(error)
    return result
  }
  const accountsOf = (chainId) => async () => {
    const { bech32Address: address, algo, pubKey } = await ask('getKey', chainId)
    return [{ address, algo, pubkey: fromHex(pubKey) }]
  }
  const signAmino = (address, document) => ask('signAmino', address, document)
  window.keplr = {
    experimentalSuggestChain: (info) => ask('experimentalSuggestChain', info),
    enable: (chainId) => ask('enable', chainId),
    getKey: async (chainId) => {
      const { pubKey, ...key } = await ask('getKey', chainId)
      return { ...key, pubKey: fromHex(pubKey) }
    },
    getOfflineSigner: (chainId) => ({
      getAccounts: accountsOf(chainId),
      signAmino,
      signDirect: async (address, { bodyBytes, authInfoBytes, chainId, accountNumber }) => {
        const document = { bodyBytes: toHex(bodyBytes), authInfoBytes: toHex(authInfoBytes), chainId, accountNumber: String(accountNumber) }
        return { signed: { bodyBytes, authInfoBytes, chainId, accountNumber }, signature: await ask('signDirect', address, document) }
      },
    }),
    getOfflineSignerOnlyAmino: (chainId) => ({ getAccounts: accountsOf(chainId), signAmino }),
    experimentalSignEIP712CosmosTx_v0: (chainId, address, typedData, document) =>
      ask('experimentalSignEIP712CosmosTx_v0', address, document, typedData),
  }
  const provider = { request: ({ method }) => ask(method), on: () => {}, removeListener: () => {} }
  const info = { uuid: 'b', name: 'Keplr', icon: 'data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg"/>', rdns: 'app.keplr' }
  const announce = () => dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail: Object.freeze({ info, provider }) }))
  addEventListener('eip6963:requestProvider', announce)
  announce()
}`

/** Types that Keplr shows in words in the direct form; of others it shows the bytes. */
const SHOWN_DIRECT: ReadonlySet<string> = new Set([
  '/cosmos.bank.v1beta1.MsgSend',
  '/cosmos.distribution.v1beta1.MsgWithdrawDelegatorReward',
  '/cosmos.gov.v1beta1.MsgVote',
  '/cosmos.staking.v1beta1.MsgBeginRedelegate',
  '/cosmos.staking.v1beta1.MsgDelegate',
  '/cosmos.staking.v1beta1.MsgUndelegate',
])

/** A wallet like Keplr, which refuses what Keplr refuses. */
export interface InjectedKeplr extends InjectedWallet {
  /** types whose bytes alone were shown to the owner before they signed */
  readonly blind: readonly string[]
  /** how often it opened its window for the password */
  unlocks(): number
  /** The next question of a page opens its window. */
  lock(): void
  /** The owner removes all chains that pages suggested, and what they agreed to. */
  removeChains(): void
}

/** @param isLedger the keys are in a Ledger, which signs typed data alone */
export async function injectKeplr(context: BrowserContext, key: Hex, isLedger: boolean): Promise<InjectedKeplr> {
  const signersOf = async (hex: Hex) => {
    const bytes = Buffer.from(hex.slice(2), 'hex')
    return {
      bytes,
      direct: await DirectEthSecp256k1Wallet.fromKey(bytes, 'coin'),
      amino: await COSMJS_SIGNERS.aminoEthSecp256k1(bytes),
    }
  }
  let signers = await signersOf(key)
  const asked: string[] = []
  const blind: string[] = []
  const chains: KeplrChainInfo[] = []
  let isRefusing = false
  let isEnabled = false
  let isLocked = false
  let unlocks = 0
  const confirm = (): void => {
    if (!isRefusing) return
    isRefusing = false
    throw new Error('Request rejected')
  }
  const knownChain = (chainId: string): KeplrChainInfo => {
    const known = chains.find((info) => info.chainId === chainId)
    if (known === undefined) throw new Error(`There is no chain info for ${chainId}`)
    return known
  }
  /** @throws Error for a Ledger on a chain that has not said that it works with one */
  const checkLedger = (chainId: string): void => {
    if (isLedger && !knownChain(chainId).features.includes('force-enable-evm-ledger'))
      throw new Error('Ledger is unsupported for this chain')
  }
  const answer = async (method: string, params: readonly never[]): Promise<unknown> => {
    const [first, second, third] = params
    if (isLocked) {
      isLocked = false
      unlocks++
      confirm()
    }
    switch (method) {
      case 'experimentalSuggestChain': {
        // One that it knows already stays as it is.
        const info = first as unknown as KeplrChainInfo
        if (chains.some(({ chainId }) => chainId === info.chainId)) return undefined
        confirm()
        chains.push(info)
        return undefined
      }
      case 'enable':
        knownChain(first!)
        if (!isEnabled) confirm()
        isEnabled = true
        return undefined
      case 'getKey': {
        knownChain(first!)
        if (!isEnabled) throw new Error('Not enabled')
        checkLedger(first!)
        const [account] = await signers.direct.getAccounts()
        const pubKey = Buffer.from(account!.pubkey).toString('hex')
        // Keplr names all keys so for CosmJS.
        return { bech32Address: account!.address, algo: 'secp256k1', pubKey, isNanoLedger: isLedger, isKeystone: false }
      }
      case 'signDirect': {
        if (isLedger) throw new Error('Ledger cannot sign the direct form')
        const { bodyBytes, authInfoBytes, chainId, accountNumber } = second as unknown as Record<string, string>
        const { messages } = TxBody.decode(Buffer.from(bodyBytes!, 'hex'))
        blind.push(...messages.map(({ typeUrl }) => typeUrl).filter((type) => !SHOWN_DIRECT.has(type)))
        confirm()
        const document = SignDoc.fromPartial({
          bodyBytes: Buffer.from(bodyBytes!, 'hex'),
          authInfoBytes: Buffer.from(authInfoBytes!, 'hex'),
          chainId: chainId!,
          accountNumber: BigInt(accountNumber!),
        })
        return (await signers.direct.signDirect(first!, document)).signature
      }
      case 'signAmino':
        // Keplr opens the Ledger's Cosmos app, which has no key for this chain.
        if (isLedger) throw new TypeError("Cannot read properties of undefined (reading 'pubKey')")
        confirm()
        return signers.amino.signAmino(first!, second!)
      case 'experimentalSignEIP712CosmosTx_v0': {
        if (!isLedger) throw new Error('This feature is only usable on ledger ethereum app')
        const document = second as unknown as StdSignDoc
        checkLedger(document.chain_id)
        confirm()
        return signAsKeplrLedger(signers.bytes, third as unknown as TypedData, document)
      }
      default:
        throw new Error(`Keplr has no ${method} here`)
    }
  }
  await context.exposeFunction('askKeplr', async (method: string, params: readonly never[]) => {
    asked.push(method)
    try {
      return { result: await answer(method, params) }
    } catch (error) {
      return { error: (error as Error).message }
    }
  })
  await context.addInitScript(KEPLR)
  return {
    asked,
    blind,
    chains,
    unlocks: () => unlocks,
    lock: () => {
      isLocked = true
    },
    removeChains: () => {
      chains.length = 0
      isEnabled = false
    },
    refuseNext: () => {
      isRefusing = true
    },
    useKey: async (page, other) => {
      signers = await signersOf(other)
      await page.evaluate(`dispatchEvent(new Event('keplr_keystorechange'))`)
    },
  }
}
