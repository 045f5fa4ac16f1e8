import type { ReactNode } from 'react'

/** A part of a page with a heading. */
export function Card({
  title,
  more,
  children,
}: {
  readonly title?: ReactNode
  readonly more?: ReactNode
  readonly children: ReactNode
}) {
  return (
    <section className="card">
      {title !== undefined && (
        <header>
          <h2>{title}</h2>
          {more}
        </header>
      )}
      {children}
    </section>
  )
}

/** Names and values, one per line. Entries without a value are left out. */
export function Facts({ facts }: { readonly facts: Readonly<Record<string, ReactNode>> }) {
  return (
    <dl className="facts">
      {Object.entries(facts).map(([name, value]) =>
        value === undefined || value === null ? null : (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ),
      )}
    </dl>
  )
}

/** Text that a page shows while it waits, or when it has no content. */
export function Note({ children }: { readonly children: ReactNode }) {
  return <p className="note">{children}</p>
}
