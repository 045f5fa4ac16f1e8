import { DirectEthSecp256k1Wallet } from '@cosmjs/proto-signing'
import { SignDoc } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import type { BrowserContext, Page } from 'playwright-core'
import { createWalletClient, type Hex, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { KeplrChainInfo } from '../../web/src/wallet/chain.ts'
import { viemChain } from '../e2e/devChain.ts'
import { post } from '../e2e/rpc.ts'
import { COSMJS_SIGNERS } from '../native/cosmJsSigners.ts'

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

/** Bytes go to the test and back as hex, 64-bit numbers as texts. */
const KEPLR = `{
  const toHex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  const fromHex = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16))
  const ask = async (method, ...params) => {
    const { result, error } = await askKeplr(method, params)
    if (error) throw new Error(error)
    return result
  }
  const signers = {
    signDirect: async (address, { bodyBytes, authInfoBytes, chainId, accountNumber }) => {
      const document = { bodyBytes: toHex(bodyBytes), authInfoBytes: toHex(authInfoBytes), chainId, accountNumber: String(accountNumber) }
      return { signed: { bodyBytes, authInfoBytes, chainId, accountNumber }, signature: await ask('signDirect', address, document) }
    },
    signAmino: (address, document) => ask('signAmino', address, document),
  }
  window.keplr = {
    experimentalSuggestChain: (info) => ask('experimentalSuggestChain', info),
    enable: (chainId) => ask('enable', chainId),
    getOfflineSignerAuto: async (chainId) => {
      const { isLedger, accounts } = await ask('getKey', chainId)
      const getAccounts = async () => accounts.map(({ pubkey, ...account }) => ({ ...account, pubkey: fromHex(pubkey) }))
      return isLedger ? { getAccounts, signAmino: signers.signAmino } : { getAccounts, signDirect: signers.signDirect }
    },
  }
}`

/** @param isLedger signs the amino form alone, as hardware wallets do */
export async function injectKeplr(context: BrowserContext, key: Hex, isLedger: boolean): Promise<InjectedWallet> {
  const signersOf = async (hex: Hex) => {
    const bytes = Buffer.from(hex.slice(2), 'hex')
    return {
      direct: await DirectEthSecp256k1Wallet.fromKey(bytes, 'coin'),
      amino: await COSMJS_SIGNERS.aminoEthSecp256k1(bytes),
    }
  }
  let signers = await signersOf(key)
  const asked: string[] = []
  const chains: unknown[] = []
  let isRefusing = false
  let isEnabled = false
  const confirm = (): void => {
    if (!isRefusing) return
    isRefusing = false
    throw new Error('Request rejected')
  }
  const isKnown = (chainId: string): boolean => chains.some((info) => (info as KeplrChainInfo).chainId === chainId)
  const answer = async (method: string, params: readonly never[]): Promise<unknown> => {
    const [first, second] = params
    switch (method) {
      case 'experimentalSuggestChain':
        confirm()
        if (!isKnown((first as unknown as KeplrChainInfo).chainId)) chains.push(first)
        return undefined
      case 'enable':
        if (!isKnown(first!)) throw new Error(`There is no chain info for ${first}`)
        confirm()
        isEnabled = true
        return undefined
      case 'getKey': {
        if (!isEnabled) throw new Error('Not enabled')
        const accounts = await signers.direct.getAccounts()
        // Keplr names all keys so.
        const named = accounts.map(({ address, pubkey }) => ({
          address,
          algo: 'secp256k1',
          pubkey: Buffer.from(pubkey).toString('hex'),
        }))
        return { isLedger, accounts: named }
      }
      case 'signDirect': {
        confirm()
        const { bodyBytes, authInfoBytes, chainId, accountNumber } = second as unknown as Record<string, string>
        const document = SignDoc.fromPartial({
          bodyBytes: Buffer.from(bodyBytes!, 'hex'),
          authInfoBytes: Buffer.from(authInfoBytes!, 'hex'),
          chainId: chainId!,
          accountNumber: BigInt(accountNumber!),
        })
        return (await signers.direct.signDirect(first!, document)).signature
      }
      case 'signAmino':
        confirm()
        return signers.amino.signAmino(first!, second!)
      default:
        throw new Error(`Keplr has no ${method}`)
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
    chains,
    refuseNext: () => {
      isRefusing = true
    },
    useKey: async (page, other) => {
      signers = await signersOf(other)
      await page.evaluate(`dispatchEvent(new Event('keplr_keystorechange'))`)
    },
  }
}
