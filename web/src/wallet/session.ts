import { useSyncExternalStore } from 'react'
import type { Wallet } from './action.ts'
import { keplrChainInfo, type WalletChain } from './chain.ts'
import type { EthereumWallets, FoundWallet } from './ethereumWallet.ts'
import type { Keplr } from './keplrWallet.ts'

/* The wallet that is connected, for all pages. The libraries of a kind of wallets are loaded with the first use of that kind. */

/** A wallet that can be connected. */
export interface Choice extends FoundWallet {
  readonly kind: 'ethereum' | 'native'
}

/** Wallets with Keplr's interface, and where they are in `window`. */
const NATIVE_WALLETS = [
  ['keplr', 'Keplr'],
  ['leap', 'Leap'],
] as const

/** Under this name the browser remembers the wallet, as its kind and id. */
const REMEMBERED = 'wallet'

let current: Wallet | undefined
/** of the wallet that was chosen last: what one of the other kind says of itself later is ignored */
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
  if (chosen === 'ethereum') await (await loadEthereum(chain)).connect(id, false)
  else await connectNative(id, name, chain)
  localStorage.setItem(REMEMBERED, `${chosen} ${id}`)
}

async function connectNative(id: string, name: string, chain: WalletChain): Promise<void> {
  const keplr = nativeWallet(id)
  if (keplr === undefined) throw new Error(`${name} is no longer in this browser`)
  const { connectKeplr } = await import('./keplrWallet.ts')
  const wallet = await connectKeplr(keplr, name, chain)
  change(wallet, 'native')
  const follow = (): void => {
    if (current !== wallet) return
    // Where the wallet gives its owner's other account to no page, nobody is connected any more.
    connectNative(id, name, chain).catch(() => change(undefined, 'native'))
  }
  // Its owner has chosen another account in it.
  addEventListener(`${id}_keystorechange`, follow, { once: true })
}

/** Connects the wallet of the last visit again, without a question where the wallet agreed to that. */
export async function resume(chain: WalletChain): Promise<void> {
  const [chosen, id] = localStorage.getItem(REMEMBERED)?.split(' ') ?? []
  if (current !== undefined || id === undefined) return
  kind = chosen === 'ethereum' ? 'ethereum' : 'native'
  if (kind === 'ethereum') return (await loadEthereum(chain)).connect(id, true)
  const name = NATIVE_WALLETS.find(([known]) => known === id)?.[1]
  if (name !== undefined && nativeWallet(id) !== undefined) await connectNative(id, name, chain)
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
  if (keplr === undefined) throw new Error(`${name} is no longer in this browser`)
  await keplr.experimentalSuggestChain(keplrChainInfo(chain))
}
