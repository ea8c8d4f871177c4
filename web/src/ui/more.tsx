import type { Pages } from '../api/usepages';
import { Button } from './parts';

/** Shows the next page of a list, if there is one. */
export function More({ of, label = 'Show more' }: { of: Pages; label?: string }) {
  if (!of.hasNextPage) return null;
  return (
    <div className="mt-3 flex justify-center">
      <Button onClick={() => void of.fetchNextPage()} disabled={of.isFetchingNextPage}>{of.isFetchingNextPage ? 'Loading…' : label}</Button>
    </div>
  );
}
