import type { ReactNode } from 'react'

/** Bytes, JSON or source code as they are. What is long scrolls within. */
export function Data({ children, isCode = false }: { readonly children: ReactNode; readonly isCode?: boolean }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is to be reached by keyboard
    <pre className={isCode ? 'data code' : 'data'} tabIndex={0}>
      {children}
    </pre>
  )
}
