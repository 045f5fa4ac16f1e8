import { useSyncExternalStore } from 'react'
import type { Wallet } from './action.ts'
import { keplrChainInfo, type WalletChain } from './chain.ts'
import type { EthereumWallets, FoundWallet } from './ethereumWallet.ts'
import type { Keplr } from './keplrWallet.ts'

/* The connected wallet, for all pages. The libraries for a kind of wallet are loaded when that kind is first used. */

/** A wallet that can be connected. */
export interface Choice extends FoundWallet {
  readonly kind: 'ethereum' | 'native'
}

/** Wallets with Keplr's interface, and where they are in `window`. */
const NATIVE_WALLETS = [
  ['keplr', 'Keplr'],
  ['leap', 'Leap'],
] as const

/** Under this name the browser remembers the id of an Ethereum wallet. */
const REMEMBERED = 'ethereum wallet'

/** Ethereum wallets that ask for the password whenever a page requests something. */
const WAKING: ReadonlySet<string> = new Set(['app.keplr'])

let current: Wallet | undefined
/** kind of the wallet that was chosen last: later events of the other kind are ignored */
let kind: Choice['kind'] | undefined
let ethereum: Promise<EthereumWallets> | undefined
const listeners = new Set<() => void>()

function change(wallet: Wallet | undefined, ofKind: Choice['kind']): void {
  if (kind !== ofKind) return
  current = wallet
  for (const listener of listeners) listener()
}

/** The wallet that is connected; undefined: none. */
export function useWallet(): Wallet | undefined {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => current,
  )
}

function loadEthereum(chain: WalletChain): Promise<EthereumWallets> {
  ethereum ??= import('./ethereumWallet.ts').then(({ ethereumWallets }) =>
    ethereumWallets(chain, (wallet) => change(wallet, 'ethereum')),
  )
  return ethereum
}

function nativeWallet(id: string): Keplr | undefined {
  return (window as unknown as Readonly<Record<string, Keplr | undefined>>)[id]
}

function nativeChoices(): readonly Choice[] {
  return NATIVE_WALLETS.flatMap(([id, name]) => (nativeWallet(id) === undefined ? [] : [{ kind: 'native', id, name }]))
}

/** The wallets in this browser. More may announce themselves later. */
export async function findChoices(chain: WalletChain): Promise<readonly Choice[]> {
  const wallets = await loadEthereum(chain)
  return [...wallets.find().map((found) => ({ ...found, kind: 'ethereum' as const })), ...nativeChoices()]
}

/** Asks the owner of a wallet for an account. */
export async function connect(
  { kind: chosen, id, name }: Pick<Choice, 'kind' | 'id' | 'name'>,
  chain: WalletChain,
): Promise<void> {
  kind = chosen
  if (chosen === 'native') {
    localStorage.removeItem(REMEMBERED)
    return connectNative(id, name, chain)
  }
  await (await loadEthereum(chain)).connect(id, false)
  localStorage.setItem(REMEMBERED, id)
}

async function connectNative(id: string, name: string, chain: WalletChain): Promise<void> {
  const keplr = nativeWallet(id)
  if (keplr === undefined) throw new Error(`${name} is no longer available in this browser: connect another wallet`)
  const { connectKeplr, keplrWallet } = await import('./keplrWallet.ts')
  const use = (wallet: Wallet): void => {
    change(wallet, 'native')
    const follow = async (): Promise<void> => {
      if (current !== wallet) return
      try {
        // The owner is at the wallet, so the question for the account needs no window, and the chain is not suggested again.
        use(await keplrWallet(keplr, name, chain))
      } catch {
        // No page has access to the new account, and the owner no longer chooses the previous account either.
        change(undefined, 'native')
      }
    }
    // Its owner has chosen another account in it.
    addEventListener(`${id}_keystorechange`, () => void follow(), { once: true })
  }
  use(await connectKeplr(keplr, name, chain))
}

/**
 * Connects the wallet of the last visit again, without a question. Only Ethereum wallets can tell without their owner whether they agreed
 * to that: a Cosmos wallet that is locked opens its window, so people connect it themselves.
 */
export async function resume(chain: WalletChain): Promise<void> {
  const id = localStorage.getItem(REMEMBERED)
  if (current !== undefined || id === null || WAKING.has(id)) return
  kind = 'ethereum'
  await (await loadEthereum(chain)).connect(id, true)
}

export async function disconnect(): Promise<void> {
  localStorage.removeItem(REMEMBERED)
  if (kind === undefined) return
  if (kind === 'ethereum') await (await ethereum)?.disconnect()
  change(undefined, kind)
}

/** "Add to wallet": the wallet learns of the chain. */
export async function addChain({ kind: chosen, id, name }: Choice, chain: WalletChain): Promise<void> {
  if (chosen === 'ethereum') return (await loadEthereum(chain)).addChain(id)
  const keplr = nativeWallet(id)
  if (keplr === undefined) throw new Error(`${name} is no longer available in this browser: connect another wallet`)
  await keplr.experimentalSuggestChain(keplrChainInfo(chain))
}
