import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { shorten } from '../format.ts'

/* Links to what has a page of its own, and texts that people copy. */

export function AddressLink({ address, isShort = true }: { readonly address: string; readonly isShort?: boolean }) {
  return (
    <Link to="/address/$address" params={{ address }} className="mono" title={address}>
      {isShort ? shorten(address) : address}
    </Link>
  )
}

export function TransactionLink({ hash, isShort = true }: { readonly hash: string; readonly isShort?: boolean }) {
  return (
    <Link to="/tx/$hash" params={{ hash }} className="mono" title={hash}>
      {isShort ? shorten(hash, 10, 8) : hash}
    </Link>
  )
}

export function BlockLink({ height }: { readonly height: number }) {
  return (
    <Link to="/block/$id" params={{ id: String(height) }}>
      {height.toLocaleString('en')}
    </Link>
  )
}

/** A text with a button that copies it. */
export function Copyable({ text }: { readonly text: string }) {
  const [isCopied, setCopied] = useState(false)
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
    setTimeout(() => setCopied(false), 1_500)
  }
  return (
    <span className="copyable">
      <span className="mono">{text}</span>
      <button type="button" className="copy" onClick={copy} aria-label={`Copy ${text}`}>
        {isCopied ? 'copied' : 'copy'}
      </button>
    </span>
  )
}
