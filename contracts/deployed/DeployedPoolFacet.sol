// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {PoolFacet} from "../facets/PoolFacet.sol";
import {IDeployedLogs} from "../interfaces/IDeployedLogs.sol";
import {LibPool} from "../libraries/LibPool.sol";
import {Deposit, HedgeEvent} from "../libraries/LibStorage.sol";
import {Reasons} from "../libraries/Reasons.sol";
import {LibDeployed} from "./LibDeployed.sol";

/// @title A closed pool still accepts its creator's liquidity, and withdrawals are rounded up.
contract DeployedPoolFacet is PoolFacet {
    function deposit(uint256 _eventId, uint256 _amount)
        external
        override
        whenNotPaused
        nonReentrant
        returns (uint256 depositId)
    {
        HedgeEvent storage e = existing(_eventId);
        require(e.settledAt == 0, Reasons.DEPLOYED_EVENT_SETTLED);
        require(_amount >= LibDeployed.MIN_AMOUNT, Reasons.MIN_DEPOSIT);
        require(msg.sender == e.creator || (e.poolOpen && e.allowExternalLp), Reasons.POOL_CLOSED_TO_EXTERNAL_LPS);
        uint256 shares = _amount * LibDeployed.SHARES_PER_UNIT;
        depositId = LibPool.addDeposit(_eventId, msg.sender, _amount, shares);
        emit IDeployedLogs.LiquidityDeposited(_eventId, depositId, msg.sender, _amount, shares);
        LibDeployed.pull(e.paymentToken, _amount);
    }

    /// @dev A deposit's share of the payouts is rounded down, so its withdrawal is rounded up.
    function capitalOf(HedgeEvent storage e, Deposit storage d) internal view override returns (uint256) {
        return d.amount - (e.totalMaxPayout * d.amount) / e.totalLiquidity;
    }
}
