import { Fragment } from 'react';

/** A name that is longer than a line breaks after one of its separators. */
export const Name = ({ of }: { of: string }) => piecesOf(of).map((piece, i) => <Fragment key={i}>{i > 0 && <wbr />}{piece}</Fragment>);

/** The pieces between which a name may break: not at its start, nor between two separators. */
export const piecesOf = (name: string): string[] => name.split(/(?<=[^_./:-][_./:-]+)(?=[^_./:-])/);
